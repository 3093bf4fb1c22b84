// SPDX-License-Identifier: Apache-2.0
// The limits that Linux control groups set for this process: containers are often given less than
// the machine has.
#pragma once

#include <string>

namespace mt {

// Reads a limit from the files in a group's folder, for each version of control groups; 0: none.
struct GroupLimit {
  const char* controller;
  double (*unified)(const std::string& folder);  // version 2
  double (*single)(const std::string& folder);   // version 1
};

// The lowest limit of the groups that this process is in and of their ancestors; infinite if none
// is known. `membership` lists the process's groups; `groups` is where they are mounted.
double least_limit(const GroupLimit& limit, const std::string& membership,
                   const std::string& groups);

// In bytes.
double memory_limit_of_groups(const std::string& membership = "/proc/self/cgroup",
                              const std::string& groups = "/sys/fs/cgroup");

}  // namespace mt
