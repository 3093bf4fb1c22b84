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

// Makes one step of AdamW's five, and of those that normalize rows.
void join_many(std::vector<Step>* steps);

// Whether it does one operator and nothing else.
bool is_elementwise(const Step& step);
// Whether of the steps after `at` only the next one reads the register that it writes, and once.
bool only_next_reads(const std::vector<Step>& steps, size_t at);

}  // namespace mt::cpu
