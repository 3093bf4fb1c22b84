// SPDX-License-Identifier: Apache-2.0
#include "ops/precision.h"

#include <atomic>
#include <cstdlib>
#include <cstring>

namespace mt {
namespace {

std::atomic<Precision>& current() {
  static constinit std::atomic<Precision> precision{Precision::strict};
  return precision;
}

// From the environment, before the first call.
[[maybe_unused]] const bool precision_read = [] {
  constexpr const char* names[precision_count] = {"strict", "split", "bf16", "tf32"};
  const char* setting = std::getenv("MT_MATMUL_PRECISION");
  for (int i = 0; setting && i < precision_count; ++i) {
    if (std::strcmp(setting, names[i]) == 0) current() = static_cast<Precision>(i);
  }
  return true;
}();

}  // namespace

Precision matmul_precision() { return current().load(std::memory_order_relaxed); }
void set_matmul_precision(Precision precision) {
  current().store(precision, std::memory_order_relaxed);
}

}  // namespace mt
