// SPDX-License-Identifier: Apache-2.0
// Numbers in formulas that are recorded again and again, as those of gradients are.
#pragma once

#include "graph/node.h"

namespace mt {

// While one is there, a number beside a tensor is recorded once on its thread, not each time.
class SharedNumbers {
 public:
  SharedNumbers();
  ~SharedNumbers();
  SharedNumbers(const SharedNumbers&) = delete;

  // The number in the type of `beside`, a float's.
  static Tensor number(double value, const Tensor& beside);

 private:
  struct Entry {
    double value;
    Tensor number;
  };
  std::vector<Entry> entries_;
  SharedNumbers* outer_;
};

}  // namespace mt
