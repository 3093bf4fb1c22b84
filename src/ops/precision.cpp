// SPDX-License-Identifier: Apache-2.0
#include "ops/precision.h"

#include <atomic>

#include "base/environment.h"

namespace mt {
namespace {

std::atomic<Precision>& current() {
  static constinit std::atomic<Precision> precision{Precision::strict};
  return precision;
}

// From the environment, before the first call.
[[maybe_unused]] const bool precision_read = [] {
  int named = named_setting("MT_MATMUL_PRECISION", {"strict", "split", "bf16", "tf32"});
  if (named >= 0) current() = static_cast<Precision>(named);
  return true;
}();

}  // namespace

Precision matmul_precision() { return current().load(std::memory_order_relaxed); }
void set_matmul_precision(Precision precision) {
  current().store(precision, std::memory_order_relaxed);
}

}  // namespace mt
