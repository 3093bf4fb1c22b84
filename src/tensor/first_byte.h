// SPDX-License-Identifier: Apache-2.0
// How many bytes into its storage a layout's first element lies.
#pragma once

#include "tensor/dtype.h"
#include "tensor/layout.h"

namespace mt {

inline int64_t first_byte(const Layout& layout, Dtype dtype) {
  return layout.offset * static_cast<int64_t>(size_of(dtype));
}
// Of whatever has both.
template <class Array>
int64_t first_byte(const Array& array) {
  return first_byte(array.layout, array.dtype);
}

}  // namespace mt
