// SPDX-License-Identifier: Apache-2.0
// Steps that become one, where nobody else reads what the first ones compute: it need not be
// stored.
#pragma once

#include "backends/cpu/program/program.h"

namespace mt::cpu {

// Makes one step of two where there is a kernel for both; of an operator and the reduction of what
// it computes only `with_reductions`. Then what join_many() does.
void join_steps(std::vector<Step>* steps, bool with_reductions);

// Where elements are chosen by comparing their positions in the row with one number, chooses that
// one without comparing.
void join_positions(std::vector<Step>* steps, const Segment& segment);

// Makes one step of AdamW's five, and what join_rows() and join_norm_gradients() do.
void join_many(std::vector<Step>* steps);
// One step for those from `at` on that normalize rows, or make their exponentials shares of a sum;
// returns how many they are, or 0.
size_t join_rows(const std::vector<Step>& steps, size_t at, Step* joined);
// Makes two steps of those of a layer norm's gradient, beside what they do with rows' numbers.
void join_norm_gradients(std::vector<Step>* steps);

// Whether it does one operator and nothing else.
bool is_elementwise(const Step& step);
// Whether of the steps after `at` only the next one reads the register that it writes, and once.
bool only_next_reads(const std::vector<Step>& steps, size_t at);

// Whether a step after `at` reads what that place holds.
bool is_read_later(const std::vector<Step>& steps, size_t at, int16_t place);
// Whether it reduces rows of elements by that kernel.
bool reduces_rows(const Step& step, Operator kernel);

}  // namespace mt::cpu
