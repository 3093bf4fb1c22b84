// SPDX-License-Identifier: Apache-2.0
// The offset in bytes of a layout's first element in its storage.
#pragma once

#include "tensor/dtype.h"
#include "tensor/layout.h"

namespace mt {

inline int64_t first_byte(const Layout& layout, Dtype dtype) {
  return layout.offset * static_cast<int64_t>(size_of(dtype));
}
// Of anything that has a layout and a dtype.
template <class Array>
int64_t first_byte(const Array& array) {
  return first_byte(array.layout, array.dtype);
}

}  // namespace mt
