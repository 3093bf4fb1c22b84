// SPDX-License-Identifier: Apache-2.0
// What mt_map() has pinned.
#pragma once

#include <vector>

#include "api/handle.h"
#include "tensor/storage.h"

namespace mt::api {

// Kept until the last map of a handle ends, because the handle may have been bound to other values
// in between.
struct Maps {
  int count = 0;
  std::vector<Ref<Storage>> pinned;
  ~Maps() {
    for (const Ref<Storage>& storage : pinned) storage->unpin();
  }
};
void forget_maps(mt_tensor* handle);

}  // namespace mt::api
