// SPDX-License-Identifier: Apache-2.0
// Reading values on the host.
#pragma once

#include <vector>

#include "api/handle.h"
#include "ops/naive.h"
#include "tensor/storage.h"

namespace mt::api {

// A computed value as the host sees it.
struct HostArray {
  Ref<Storage> storage;  // holds the elements
  NaiveArray array;
};
HostArray host_array(const Tensor& x);
// The same, row-major and contiguous.
HostArray contiguous_host_array(const Tensor& x);
void copy_to_host(const Tensor& x, void* buffer);

// What mt_map() has pinned. Kept until the last map of a handle ends, because the handle may have
// been bound to other values in between.
struct Maps {
  int count = 0;
  std::vector<Ref<Storage>> pinned;
};
void forget_maps(mt_tensor* handle);

}  // namespace mt::api
