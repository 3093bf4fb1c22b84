// SPDX-License-Identifier: Apache-2.0
// Settings from environment variables, each read once: when the library is loaded or when first
// needed. No call could return an error for a wrong one, so it is reported on standard error.
#pragma once

#include <vector>

namespace mt {

// The index in `names` of the variable's value; -1 if it is not set, empty, or none of them.
int named_setting(const char* variable, const std::vector<const char*>& names);
// The variable's value, from 1 to `most`; 0 if it is not set, empty, or no such whole number.
int counted_setting(const char* variable, int most);

}  // namespace mt
