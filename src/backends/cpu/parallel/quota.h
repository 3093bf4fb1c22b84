// SPDX-License-Identifier: Apache-2.0
// How many processors may be used: Linux control groups often allow a process fewer than the
// machine has.
#pragma once

#include <string>

namespace mt::cpu {

// The limit in processors, rounded up; 0: none is known. The paths are those of least_limit().
int processor_quota(const std::string& membership = "/proc/self/cgroup",
                    const std::string& groups = "/sys/fs/cgroup");

}  // namespace mt::cpu
