// SPDX-License-Identifier: Apache-2.0
#include "backends/host.h"

#include "backends/cpu/description.h"
#include "backends/cpu/linalg/lapack.h"
#include "backends/cpu/parallel/parallel.h"
#include "backends/cpu/strided/strided.h"

namespace mt {

int host::thread_count() { return cpu::thread_count(); }
void host::set_thread_count(int count) { cpu::set_thread_count(count); }

std::string host::processor_name() { return cpu::model_name(); }
const char* host::lapack_name() { return cpu::lapack_name(); }

void host::gather(void* out, const void* base, size_t size, const Layout& layout) {
  cpu::gather_strided(out, base, size, collapse(layout), 0, element_count(layout.shape));
}

}  // namespace mt
