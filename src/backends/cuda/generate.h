// SPDX-License-Identifier: Apache-2.0
// A group's program as a kernel of its own, in CUDA C.
#pragma once

#include <string>

#include "backends/cuda/views.h"
#include "plan/plan.h"

namespace mt::cuda {

constexpr char generated_name[] = "group";
constexpr int generated_threads = 256;

// For element-wise and row groups. The kernel's one parameter is the group's ProgramView: the text
// depends on the program alone, not on sizes or addresses, so that groups share it. It gives the
// interpreter's bits.
std::string generate(const Program& program, const Segment& segment, GroupKind kind);

// A product on Hopper whose tiles are finished by an element-wise program as they come
// (hopper_product.h), for results that 31 bits can count. Its parameters are the ContractionView,
// which has the program as its epilogue, and both operands.
struct HopperTileText {
  Factor factor;
  bool a_along_k, b_along_k;
  int columns;
};
std::string generate_within(const Program& program, const Segment& segment,
                            const HopperTileText& tile);

}  // namespace mt::cuda
