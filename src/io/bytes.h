// SPDX-License-Identifier: Apache-2.0
// What file formats share: numbers from bytes, and sizes that are checked before they are used.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace mt {

template <class T>
T load_little_endian(const unsigned char* bytes) {
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) value |= static_cast<T>(static_cast<T>(bytes[i]) << 8 * i);
  return value;
}
template <class T>
T load_big_endian(const unsigned char* bytes) {
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) value = static_cast<T>(value << 8) | bytes[i];
  return value;
}

// Exchanges the byte order of elements of `size` bytes.
void swap_bytes(void* data, size_t bytes, size_t size);
// Every byte but 0 becomes 1, the only other value that a bool may have.
void make_boolean(void* data, size_t bytes);

// The bytes that a shape from a file needs. Fails with Code::io, naming the file, when the shape or
// its strides cannot be counted in int64.
uint64_t checked_bytes(const Shape& shape, Dtype dtype, const char* file);

}  // namespace mt
