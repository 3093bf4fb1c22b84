// SPDX-License-Identifier: Apache-2.0
// In which order sums are formed. This is a property of the recorded operator alone, never of
// threads, tiles or instruction sets, so that every way of running gives the same bits.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tensor/dtype.h"

namespace mt {

// A reduction whose last logical axis is reduced ("row") distributes element j of a panel to lane
// j % row_lanes and combines the lanes by halving. Any other ("column") keeps one chain for each
// output. Both work in panels of fixed length along the reduced elements, in logical row-major
// order; the panels' results are combined pairwise: result(0, n) = result(0, n/2) + result(n/2, n),
// n/2 rounded up to a power of two. What ops/reduce.cpp records as two sums is ordered by each.
constexpr int row_lanes = 32;
constexpr int64_t row_panel = 16384;
// Short panels occupy a machine where the outputs alone do not.
constexpr int64_t column_panel(int64_t outputs) { return outputs <= 16384 ? 128 : 1024; }

// A contraction's output element is a chain of fused multiply-adds over k, beginning at zero, in
// panels along k that are combined pairwise as above.
struct ContractionOrder {
  int lanes;      // 1: one chain; else element k goes to lane k % lanes, combined by halving
  int64_t panel;  // elements of k in a panel; k itself when it is not split
};

// k is split only where the outputs alone could not occupy a machine: many terms, few outputs; then
// in at most 64 panels, so that what they leave behind stays small. Lanes are for matrix-vector
// products and their like, which read memory once for little arithmetic: there vectors along k are
// what keeps up with it.
inline ContractionOrder contraction_order(int64_t m, int64_t n, int64_t k, Dtype) {
  bool few = m * n <= 64 * 1024;
  int64_t panel = std::max<int64_t>(k, 1);
  if (few && k >= 4096) panel = std::max<int64_t>(1024, (k + 64 * 64 - 1) / (64 * 64) * 64);
  int lanes = std::min(m, n) <= 4 && k >= 64 ? 16 : 1;
  return {lanes, panel};
}

// Attention takes a query's keys in panels of so many. Within one, a weight is exp(score - the
// largest score so far), and their sum and the sums of weighted values are chains over the keys
// that go on from what the panels before gave, multiplied by exp(largest before - largest now). A
// score is a chain over the components, and so are the sums of the gradient, over queries and over
// keys.
constexpr int64_t attention_panel = 128;

// A running sum takes a line in panels of so many elements: sums within each, then the panels'
// totals one after another, of which each is added to the sums of the panel after it. Where a
// line's elements lie next to each other, a panel is taken in chains in the same way.
constexpr int64_t running_panel = 4096, running_chain = 64;

}  // namespace mt
