// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <mtorch/mtorch.hpp>
#include <vector>

namespace mtorch {

inline std::vector<float> numbers(const Tensor& x) { return x.to_vector<float>(); }

}  // namespace mtorch
