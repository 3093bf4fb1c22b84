// SPDX-License-Identifier: Apache-2.0
// What others than the CPU backend ask of it: the C boundary, and whoever handles memory of the
// host.
#pragma once

#include <cstddef>
#include <string>

#include "tensor/layout.h"

namespace mt::host {

constexpr int most_threads = 1024;  // that may be asked for
int thread_count();
void set_thread_count(int count);  // 0: all cores that this process may use

std::string processor_name();  // "AMD EPYC 9654 96-Core Processor"
// Of the LAPACK that was loaded; "" where there is none.
const char* lapack_name();

// Copies a layout's elements, of `size` bytes each, in row-major order to contiguous `out`. `base`
// is the element at the layout's offset.
void gather(void* out, const void* base, size_t size, const Layout& layout);

}  // namespace mt::host
