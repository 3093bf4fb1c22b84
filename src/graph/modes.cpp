// SPDX-License-Identifier: Apache-2.0
#include "graph/modes.h"

#include "base/environment.h"

namespace mt {
namespace {

constinit std::atomic<bool> eager{false}, nan{false};

void update() { detail::runs_at_once = eager || nan; }

// From the environment, before the first call.
[[maybe_unused]] const bool modes_read = [] {
  const int named = named_setting("MT_EAGER", {"0", "1", "nan"});
  eager = named >= 1;
  nan = named == 2;
  update();
  return true;
}();

}  // namespace

void set_eager_mode(bool enabled) {
  eager = enabled;
  update();
}

bool nan_check() { return nan.load(std::memory_order_relaxed); }
void set_nan_check(bool enabled) {
  nan = enabled;
  update();
}

}  // namespace mt
