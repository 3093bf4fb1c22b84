// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/parallel/quota.h"

#include <algorithm>
#include <climits>
#include <cmath>
#include <fstream>

namespace mt::cpu {
namespace {

// The processors that `quota` microseconds in each `period` are; 0 when that says nothing.
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

// The least share of a group and all that it lies in.
double least(std::string group, const std::string& root, double (*share_of)(const std::string&)) {
  double result = HUGE_VAL;
  while (true) {
    double found = share_of(root + group);
    if (found > 0) result = std::min(result, found);
    size_t slash = group.rfind('/');
    if (slash == std::string::npos) return result;
    group.resize(slash);
  }
}

}  // namespace

int processor_quota(const std::string& membership, const std::string& groups) {
  double result = HUGE_VAL;
  std::ifstream file(membership);
  // Lines "number:controllers:/group"; without controllers it is version 2. A container may see
  // only its own group, as the root of what is mounted.
  for (std::string line; std::getline(file, line);) {
    size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    std::string controllers = ',' + line.substr(first + 1, second - first - 1) + ',';
    std::string group = line.substr(second + 1);
    if (controllers == ",,") {
      result = std::min(result, least(group, groups, share_of_unified));
    } else if (controllers.find(",cpu,") != std::string::npos) {
      result = std::min(result, least(group, groups + "/cpu", share_of_controller));
    }
  }
  return result < INT_MAX ? std::max(1, static_cast<int>(std::ceil(result))) : 0;
}

}  // namespace mt::cpu
