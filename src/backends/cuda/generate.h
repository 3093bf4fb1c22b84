// SPDX-License-Identifier: Apache-2.0
// A group's program as a kernel of its own, in CUDA C.
#pragma once

#include <string>

#include "plan/plan.h"

namespace mt::cuda {

constexpr char generated_name[] = "group";
constexpr int generated_threads = 256;

// For element-wise and row groups. The kernel's one parameter is the group's ProgramView: the text
// depends on the program alone, not on sizes or addresses, so that groups share it. It gives the
// interpreter's bits.
std::string generate(const Program& program, const Segment& segment, GroupKind kind);

}  // namespace mt::cuda
