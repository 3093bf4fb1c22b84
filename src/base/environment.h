// SPDX-License-Identifier: Apache-2.0
// Settings in the environment, each read once: when the library is loaded, or where it is first
// needed. No call is there that a wrong one could fail: standard error names it.
#pragma once

#include <vector>

namespace mt {

// Which of `names` the variable is; -1 if it is not set, empty, or none of them.
int named_setting(const char* variable, const std::vector<const char*>& names);
// The whole number from 1 to `most` that the variable is; 0 if it is not set, empty, or none.
int counted_setting(const char* variable, int most);

}  // namespace mt
