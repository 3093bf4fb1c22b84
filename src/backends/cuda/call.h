// SPDX-License-Identifier: Apache-2.0
// Operators that run by themselves.
#pragma once

#include "backends/cuda/prepare.h"

namespace mt::cuda {

LayoutView layout_view(const Layout& layout);

// How to run the group: by the operator's kernel, or, where there is none, by its naive value on
// the host, to which its operands go and from which its result comes back.
std::function<void(const Run&)> prepare_call(const CallGroup& group, const Properties& device,
                                             Block* block, int64_t* scratch);

}  // namespace mt::cuda
