// SPDX-License-Identifier: Apache-2.0
#include "base/control_groups.h"

#include <algorithm>
#include <cmath>
#include <fstream>

namespace mt {
namespace {

double least(std::string group, const std::string& root, double (*limit_of)(const std::string&)) {
  double result = HUGE_VAL;
  while (true) {
    double found = limit_of(root + group);
    if (found > 0) result = std::min(result, found);
    size_t slash = group.rfind('/');
    if (slash == std::string::npos) return result;
    group.resize(slash);
  }
}

double number_in(const std::string& path) {
  double result = 0;
  std::ifstream file(path);
  return file >> result ? result : 0;
}

}  // namespace

double least_limit(const GroupLimit& limit, const std::string& membership,
                   const std::string& groups) {
  double result = HUGE_VAL;
  const std::string controller = limit.controller;
  std::ifstream file(membership);
  // Lines "number:controllers:/group"; without controllers it is version 2. A container may see
  // only its own group, mounted as the root.
  for (std::string line; std::getline(file, line);) {
    size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    std::string controllers = ',' + line.substr(first + 1, second - first - 1) + ',';
    std::string group = line.substr(second + 1);
    if (controllers == ",,") {
      result = std::min(result, least(group, groups, limit.unified));
    } else if (controllers.find(',' + controller + ',') != std::string::npos) {
      result = std::min(result, least(group, groups + '/' + controller, limit.single));
    }
  }
  return result;
}

double memory_limit_of_groups(const std::string& membership, const std::string& groups) {
  // Without a limit, version 2 reads "max" and version 1 more than any machine has.
  constexpr GroupLimit limit{
      "memory", [](const std::string& folder) { return number_in(folder + "/memory.max"); },
      [](const std::string& folder) { return number_in(folder + "/memory.limit_in_bytes"); }};
  return least_limit(limit, membership, groups);
}

}  // namespace mt
