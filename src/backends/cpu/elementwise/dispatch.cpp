// SPDX-License-Identifier: Apache-2.0
// Which instruction set runs, and the table lookup.
#include <cstring>
#include <vector>

#include "backends/cpu/elementwise/targets.h"

#include "backends/cpu/elementwise/tables.h"
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

Operator elementwise_operator(Elementwise code, Compute type) {
  choose_instruction_set();
  size_t row = static_cast<size_t>(code);
  switch (type) {
    case Compute::f32: return float32_operators()[row];
    case Compute::f64: return float64_operators()[row];
    case Compute::i32: return int32_operators()[row];
    case Compute::i64: return int64_operators()[row];
    case Compute::u64: return uint64_operators()[row];
  }
  return nullptr;
}

}  // namespace mt::cpu
