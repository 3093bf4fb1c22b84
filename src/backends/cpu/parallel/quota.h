// SPDX-License-Identifier: Apache-2.0
// How many processors the control groups of Linux let this process use: containers are often given
// fewer than the machine has.
#pragma once

#include <string>

namespace mt::cpu {

// Rounded up; 0: no limit is known. The paths are where Linux says which groups this process is in,
// and where they lie.
int processor_quota(const std::string& membership = "/proc/self/cgroup",
                    const std::string& groups = "/sys/fs/cgroup");

}  // namespace mt::cpu
