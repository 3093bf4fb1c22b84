// SPDX-License-Identifier: Apache-2.0
#include "io/bytes.h"

#include <algorithm>

#include "base/error.h"

namespace mt {

void swap_bytes(void* data, size_t bytes, size_t size) {
  unsigned char* p = static_cast<unsigned char*>(data);
  for (unsigned char* end = p + bytes; p < end; p += size) std::reverse(p, p + size);
}

void make_boolean(void* data, size_t bytes) {
  unsigned char* p = static_cast<unsigned char*>(data);
  for (size_t i = 0; i < bytes; ++i) p[i] = p[i] != 0;
}

uint64_t checked_bytes(const Shape& shape, Dtype dtype, const char* file) {
  int64_t span = static_cast<int64_t>(size_of(dtype));
  bool empty = false;
  for (int64_t size : shape) {
    empty |= size == 0;
    // Zero counts as one: an empty shape's strides must fit as well.
    if (size < 0 || __builtin_mul_overflow(span, std::max<int64_t>(size, 1), &span)) {
      fail(Code::io, "%s: shape %s is impossible", file, to_string(shape).c_str());
    }
  }
  return empty ? 0 : static_cast<uint64_t>(span);
}

}  // namespace mt
