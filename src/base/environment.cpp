// SPDX-License-Identifier: Apache-2.0
#include "base/environment.h"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace mt {
namespace {

void name_wrong(const char* variable, const char* value, const std::string& possible) {
  std::fprintf(stderr, "mtorch: %s=%.40s is ignored: it is %s\n", variable, value,
               possible.c_str());
}

}  // namespace

int named_setting(const char* variable, const std::vector<const char*>& names) {
  const char* value = std::getenv(variable);
  if (!value || !*value) return -1;
  std::string possible;
  int index = 0;
  for (const char* name : names) {
    if (std::strcmp(value, name) == 0) return index;
    possible += (index++ ? " or " : "") + std::string(name);
  }
  name_wrong(variable, value, possible);
  return -1;
}

int counted_setting(const char* variable, int most) {
  const char* value = std::getenv(variable);
  if (!value || !*value) return 0;
  const char* end = value + std::strlen(value);
  int count = 0;
  auto [next, error] = std::from_chars(value, end, count);
  if (error == std::errc() && next == end && count >= 1 && count <= most) return count;
  name_wrong(variable, value, "a number from 1 to " + std::to_string(most));
  return 0;
}

}  // namespace mt
