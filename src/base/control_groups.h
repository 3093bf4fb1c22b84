// SPDX-License-Identifier: Apache-2.0
// What the control groups of Linux let this process use: containers are often given less than the
// machine has.
#pragma once

#include <string>

namespace mt {

// What the files in a group's folder grant, for each version of control groups; 0: no limit.
struct GroupLimit {
  const char* controller;
  double (*unified)(const std::string& folder);  // version 2
  double (*single)(const std::string& folder);   // version 1
};

// The least of the groups that this process is in and all that they lie in; infinite: none is
// known. The paths are where Linux says which groups those are, and where they lie.
double least_limit(const GroupLimit& limit, const std::string& membership,
                   const std::string& groups);

// In bytes.
double memory_limit_of_groups(const std::string& membership = "/proc/self/cgroup",
                              const std::string& groups = "/sys/fs/cgroup");

}  // namespace mt
