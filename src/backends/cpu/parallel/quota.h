// SPDX-License-Identifier: Apache-2.0
// How many threads there may be. What a user asks for has a bound, and the control groups of Linux
// often let a process use fewer processors than the machine has.
#pragma once

#include <string>

namespace mt::cpu {

constexpr int most_threads = 1024;

// Of processors, rounded up; 0: no limit is known. The paths are those of least_limit().
int processor_quota(const std::string& membership = "/proc/self/cgroup",
                    const std::string& groups = "/sys/fs/cgroup");

}  // namespace mt::cpu
