// SPDX-License-Identifier: Apache-2.0
// A group's program as a kernel of its own, in CUDA C. The kernel's one parameter is the group's
// ProgramView: the text depends on the program alone, not on sizes or addresses, so that groups
// share it. It gives the interpreter's bits.
#pragma once

#include <string>

#include "backends/cuda/device/views.h"
#include "plan/plan.h"

namespace mt::cuda {

constexpr char generated_name[] = "group";
constexpr int generated_threads = 256;

// How a thread finds what it takes at once of memory: next to each other, all the same, or each by
// itself.
enum class Access : uint8_t { adjacent, same, apart };
// Elements that it takes at once, of which so many are next to each other.
struct Vectors {
  int adjacent = 1, together = 1;
  std::vector<Access> memory;  // none: all apart
};
unsigned threads_of(const Vectors& vectors);

// Of element-wise work, of any number of segments, and of rows.
std::string generate_elements(const Program& program, const Segment& segment,
                              const Vectors& vectors);
std::string generate_rows(const Program& program, const Segment& segment, const Vectors& vectors);
// Of what a reduction does with each panel: a warp for one of a row, or a thread for one of a
// column.
std::string generate_reduction(const Program& program, const Segment& segment, bool in_lanes);
// Of a panel of rows that makes totals. Each of a panel's rows has that many values of its own,
// which lie in the block's shared memory; where there are none several blocks may share a panel.
constexpr int most_total_threads = 512;
std::string generate_totals(const Program& program, const Segment& segment);
int row_values(const Program& program);

// A product on Hopper whose tiles are finished by an element-wise program as they come
// (hopper_product.h), for results that 31 bits can count; one by one. Its parameters are the
// ContractionView, which has the program as its epilogue, and both operands.
struct HopperTileText {
  Factor factor;
  bool a_along_k, b_along_k;
  int columns;
};
std::string generate_within(const Program& program, const Segment& segment, const Vectors& vectors,
                            const HopperTileText& tile);

}  // namespace mt::cuda
