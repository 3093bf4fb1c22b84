// SPDX-License-Identifier: Apache-2.0
// Gives the host access to values on any device.
#pragma once

#include "graph/node.h"
#include "ops/naive.h"

namespace mt {

struct HostArray {
  Ref<Storage> storage;  // holds the elements; the value's own if the host can read it
  NaiveArray array;

  const void* data() const;  // the first element
  size_t bytes() const;      // of all elements
};

// Computes x. Throws when a copy is needed and there is no memory for it.
HostArray host_array(const Tensor& x);
// As host_array(), but row-major and contiguous.
HostArray contiguous_host_array(const Tensor& x);
// Copies x's elements in row-major order to `buffer`, which has x's size.
void copy_to_host(const Tensor& x, void* buffer);

}  // namespace mt
