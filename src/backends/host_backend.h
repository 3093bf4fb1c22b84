// SPDX-License-Identifier: Apache-2.0
// What backends whose memory is the host's have in common.
#pragma once

#include <cstring>

#include "backends/backend.h"

namespace mt {

class HostBackend : public Backend {
 public:
  void copy_from_host(void* target, const void* source, size_t bytes) final {
    if (bytes) std::memcpy(target, source, bytes);  // an empty vector has no address
  }
  void copy_to_host(void* target, const void* source, size_t bytes) final {
    copy_from_host(target, source, bytes);
  }
};

}  // namespace mt
