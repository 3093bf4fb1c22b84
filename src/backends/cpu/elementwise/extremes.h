// SPDX-License-Identifier: Apache-2.0
// The gradient of the extremes of windows (ops/extremes.cpp).
#pragma once

namespace mt {
struct NaiveCall;
}

namespace mt::cpu {

void share_among_extremes_kernel(const NaiveCall& call);

}  // namespace mt::cpu
