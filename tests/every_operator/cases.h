// SPDX-License-Identifier: Apache-2.0
// One or more cases for every operator of the C interface: sample inputs, and the call.
#pragma once

#include <mtorch/mtorch.h>

#include <string>
#include <vector>

namespace every_operator {

enum class Kind { floating, integer, boolean };

// Numbers drawn from [low, high], fixed by the case's name.
struct Input {
  std::vector<int64_t> dims;
  double low = -2, high = 2;
  Kind kind = Kind::floating;
};

struct Case {
  std::string name;     // the function's, without mt_
  std::string variant;  // what is special about this case
  std::vector<Input> inputs;
  mt_tensor* (*call)(mt_tensor* const* inputs);
  // To which order the gradient is compared with differences; 0: not differentiable.
  int order = 2;
  // How far float32 on the CPU may be from the reference, relative to the largest element.
  double tolerance = 2e-6;
  // Too long to run under the checks of random access; or not the same on a trace (it reads
  // values).
  bool traced = true;
};

std::vector<Case> cases();

}  // namespace every_operator
