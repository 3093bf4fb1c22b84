// SPDX-License-Identifier: Apache-2.0
// What the C API and code that handles host memory use of the CPU backend.
#pragma once

#include <cstddef>
#include <string>

#include "tensor/layout.h"

namespace mt::host {

constexpr int most_threads = 1024;  // that may be requested
int thread_count();
void set_thread_count(int count);  // 0: all cores that this process may use

std::string processor_name();  // "AMD EPYC 9654 96-Core Processor"
// The name of the LAPACK library that was loaded; "" if there is none.
const char* lapack_name();

// Copies a layout's elements, of `size` bytes each, in row-major order to contiguous `out`. `base`
// is the element at the layout's offset.
void gather(void* out, const void* base, size_t size, const Layout& layout);

}  // namespace mt::host
