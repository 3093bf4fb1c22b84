// SPDX-License-Identifier: Apache-2.0
// Numbers as text, as NumPy prints them.
#pragma once

#include <string>
#include <vector>

#include "tensor/dtype.h"

namespace mt::api {

// A number alone, with as many digits as tell it from its neighbours: "0.1", "1e-07", "3.0".
std::string number_text(double value, Dtype dtype);

// Numbers of one array, all with the same width: the same count of digits before the point, and
// exponents if the range asks for them.
std::vector<std::string> column_text(const std::vector<double>& values, Dtype dtype);

}  // namespace mt::api
