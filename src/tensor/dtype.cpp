// SPDX-License-Identifier: Apache-2.0
#include "tensor/dtype.h"

#include <algorithm>

#include "base/error.h"

namespace mt {
namespace {

constexpr const char* names[dtype_count] = {"bool",     "uint8",   "uint16", "uint32", "uint64",
                                            "int8",     "int16",   "int32",  "int64",  "float16",
                                            "bfloat16", "float32", "float64"};
// DLPack type codes: 0 int, 1 uint, 2 float, 4 bfloat, 6 bool.
constexpr int32_t code(int kind, int bits) { return kind | bits << 8 | 1 << 16; }
constexpr int32_t codes[dtype_count] = {
    code(6, 8),  code(1, 8),  code(1, 16), code(1, 32), code(1, 64), code(0, 8), code(0, 16),
    code(0, 32), code(0, 64), code(2, 16), code(4, 16), code(2, 32), code(2, 64)};

Dtype signed_of(size_t bytes) {
  return bytes == 1   ? Dtype::int8
         : bytes == 2 ? Dtype::int16
         : bytes == 4 ? Dtype::int32
                      : Dtype::int64;
}

}  // namespace

const char* name_of(Dtype dtype) { return names[static_cast<int>(dtype)]; }

Dtype promote(Dtype a, Dtype b, const char* operation) {
  if (a == b) return a;
  if (a > b) std::swap(a, b);
  if (a == Dtype::boolean) return b;
  if (is_floating(b)) {
    if (a == Dtype::float16 && b == Dtype::bfloat16) return Dtype::float32;
    return b;  // the enum lists floats last and in order, so b is the wider
  }
  if (is_unsigned(a) == is_unsigned(b)) return b;
  // a is unsigned, b signed: the smallest signed type that holds both.
  if (a == Dtype::uint64) {
    fail(Code::dtype, "%s: %s and %s have no common integer type; cast one first", operation,
         name_of(a), name_of(b));
  }
  return signed_of(std::max(size_of(b), 2 * size_of(a)));
}

int32_t to_code(Dtype dtype) { return codes[static_cast<int>(dtype)]; }

bool from_code(int32_t code, Dtype* dtype) {
  for (int i = 0; i < dtype_count; ++i) {
    if (codes[i] == code) {
      *dtype = static_cast<Dtype>(i);
      return true;
    }
  }
  return false;
}

}  // namespace mt
