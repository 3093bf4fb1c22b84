// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/description.h"

#include <hwy/targets.h>
#include <sys/utsname.h>

#include <cstdio>
#include <cstring>
#include <memory>

namespace mt::cpu {

std::string model_name() {
  std::string name;
  struct Close {
    void operator()(FILE* file) const { std::fclose(file); }
  };
  if (std::unique_ptr<FILE, Close> file{std::fopen("/proc/cpuinfo", "r")}) {
    char line[512];
    while (name.empty() && std::fgets(line, sizeof line, file.get())) {
      if (std::strncmp(line, "model name", 10) != 0) continue;
      const char* colon = std::strchr(line, ':');
      if (!colon) continue;
      name = colon + 1 + (colon[1] == ' ');
      while (!name.empty() && name.back() == '\n') name.pop_back();
    }
  }
  utsname system;
  if (name.empty() && uname(&system) == 0) name = system.machine;
  return name.empty() ? "CPU" : name;
}

std::string instruction_set_name() {
  int64_t targets = hwy::SupportedTargets();
  std::string name = hwy::TargetName(targets & -targets);  // the lowest bit is the best
  if (name.starts_with("AVX3")) return "AVX-512";
  if (name == "EMU128" || name == "SCALAR") return "no vector instructions";
  return name;
}

}  // namespace mt::cpu
