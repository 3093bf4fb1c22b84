// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/instruction_set.h"

#include <cstring>
#include <vector>

#include "backends/cpu/elementwise/targets.h"

#include "base/environment.h"
#include "hwy/highway.h"

namespace mt::cpu {
namespace {

constexpr int64_t kept_targets = HWY_TARGETS;

int64_t available() {
  hwy::SetSupportedTargetsForTest(0);
  return hwy::SupportedTargets() & kept_targets;
}

// A better instruction set has a lower bit.
int64_t best_of(int64_t targets) { return targets & -targets; }

bool use(int64_t targets) {
  if (targets == 0) return false;
  hwy::SetSupportedTargetsForTest(targets);
  hwy::GetChosenTarget().Update(targets);
  return true;
}

bool use_named(const char* name) {
  int64_t targets = available();
  if (name == nullptr) return use(targets);
  for (int64_t left = targets; left != 0; left &= left - 1) {
    // Everything no better than the one that was named.
    if (strcmp(hwy::TargetName(best_of(left)), name) == 0) return use(left);
  }
  use(targets);
  return false;
}

bool use_setting() {
  std::vector<const char*> names;
  for (int64_t left = available(); left != 0; left &= left - 1) {
    names.push_back(hwy::TargetName(best_of(left)));
  }
  const int named = named_setting("MT_CPU_TARGET", names);
  return use_named(named < 0 ? nullptr : names[named]);
}

}  // namespace

void choose_instruction_set() { [[maybe_unused]] static const bool chosen = use_setting(); }

bool set_instruction_set(const char* name) {
  choose_instruction_set();
  return use_named(name);
}

const char* instruction_set() {
  choose_instruction_set();
  return hwy::TargetName(best_of(hwy::SupportedTargets() & kept_targets));
}

}  // namespace mt::cpu
