// SPDX-License-Identifier: Apache-2.0
// How many processors there may be: the control groups of Linux often let a process use fewer than
// the machine has.
#pragma once

#include <string>

namespace mt::cpu {

// Of processors, rounded up; 0: no limit is known. The paths are those of least_limit().
int processor_quota(const std::string& membership = "/proc/self/cgroup",
                    const std::string& groups = "/sys/fs/cgroup");

}  // namespace mt::cpu
