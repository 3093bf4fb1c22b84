// SPDX-License-Identifier: Apache-2.0
// Joins steps into one where nothing else reads what the first ones compute, so that it need not be
// stored.
#pragma once

#include "backends/cpu/program/program.h"

namespace mt::cpu {

// Joins two steps into one where there is a kernel for both; an operator and the reduction of its
// result only if `with_reductions`, or if join_positions() has joined it. Then does join_many().
void join_steps(std::vector<Step>* steps, bool with_reductions);

// Where elements are selected by comparing their positions in the row with one number, accesses the
// one element without comparing. `turned`: whether tiles are transposed (narrow.h).
void join_positions(std::vector<Step>* steps, const Segment& segment, bool turned);

// Joins five steps of Adam or AdamW into one, and does join_rows() and join_norm_gradients().
void join_many(std::vector<Step>* steps);
// Joins the steps from `at` on that normalize rows, or make a softmax of them, into one; returns
// how many there are, or 0.
size_t join_rows(const std::vector<Step>& steps, size_t at, Step* joined);
// Joins the steps of a layer norm's gradient into two, besides those on row values.
void join_norm_gradients(std::vector<Step>* steps);

// Whether the step runs one operator and nothing else.
bool is_elementwise(const Step& step);
// Whether only the next step reads the register that step `at` writes, and only once.
bool only_next_reads(const std::vector<Step>& steps, size_t at);

// Whether a step after `at` reads the value that `place` holds.
bool is_read_later(const std::vector<Step>& steps, size_t at, int16_t place);
// Whether the step reduces rows of elements with this kernel.
bool reduces_rows(const Step& step, Operator kernel);

}  // namespace mt::cpu
