// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/parallel/quota.h"

#include <algorithm>
#include <climits>
#include <cmath>
#include <fstream>

#include "base/control_groups.h"

namespace mt::cpu {
namespace {

// How many processors `quota` microseconds in each `period` amount to; 0: no limit.
double share(double quota, double period) { return quota > 0 && period > 0 ? quota / period : 0; }

// Version 2: one file, "50000 100000" or "max 100000".
double share_of_unified(const std::string& folder) {
  double quota = 0, period = 0;
  std::ifstream file(folder + "/cpu.max");
  return file >> quota >> period ? share(quota, period) : 0;
}

// Version 1: two files; -1 is no limit.
double share_of_controller(const std::string& folder) {
  double quota = 0, period = 0;
  std::ifstream quota_file(folder + "/cpu.cfs_quota_us"),
      period_file(folder + "/cpu.cfs_period_us");
  return quota_file >> quota && period_file >> period ? share(quota, period) : 0;
}

}  // namespace

int processor_quota(const std::string& membership, const std::string& groups) {
  constexpr GroupLimit limit{"cpu", share_of_unified, share_of_controller};
  double result = least_limit(limit, membership, groups);
  return result < INT_MAX ? std::max(1, static_cast<int>(std::ceil(result))) : 0;
}

}  // namespace mt::cpu
