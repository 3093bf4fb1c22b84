// SPDX-License-Identifier: Apache-2.0
// What a user's kernel in CUDA C is compiled with by the host compiler: CUDA's words, a fiber for
// each thread. Accesses go straight to memory, unchecked. Blocks run one after the other, so that a
// static variable can be what they share.
#pragma once

#include <cmath>
#include <typeinfo>

#include "backends/cuda/device/grid.h"

#define __shared__ static

namespace user {

// Calls a kernel with the numbers and addresses that `parameters` point to.
template <class... Types, size_t... i>
void call(void (*kernel)(Types...), void* const* parameters, std::index_sequence<i...>) {
  kernel(*static_cast<Types*>(parameters[i])...);
}
template <class... Types>
void call(void (*kernel)(Types...), void* const* parameters) {
  call(kernel, parameters, std::index_sequence_for<Types...>());
}

}  // namespace user
