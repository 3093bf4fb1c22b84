// SPDX-License-Identifier: Apache-2.0
// What a thread moves in one access at most; its addresses are multiples of it.
#pragma once

namespace mt::cuda {

constexpr int vector_bytes = 16;

}  // namespace mt::cuda
