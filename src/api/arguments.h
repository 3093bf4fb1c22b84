// SPDX-License-Identifier: Apache-2.0
// Reading the arguments of C functions. Each throws for what cannot be.
#pragma once

#include <cstring>
#include <utility>
#include <vector>

#include "api/handle.h"
#include "base/error.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace mt::api {

// A required pointer was NULL; the guard adds the function's name.
struct NullArgument {
  const char* what;
};

[[noreturn]] void fail_null(const char* what);

// An argument that cannot be; the guard adds the function's name.
class ArgumentError : public Error {
  using Error::Error;
};

template <class T>
T* required(T* pointer, const char* what) {
  if (!pointer) fail_null(what);
  return pointer;
}

Tensor snapshot(const mt_tensor* handle);
// operand() of a handle whose value lies in a cell or is memory that its owner keeps writing.
const Tensor& read_operand(mt_tensor* handle, Tensor* read_now);
Tensor tensor_of_number(const Tensor& number);  // a plain one

// A tensor's value as an element-wise operand: a plain number stays one (Node::is_plain_number).
// The reference holds for the expression that it stands in; who needs the value longer copies it.
inline const Tensor& operand(mt_tensor* handle, Tensor&& read_now = Tensor()) {
  bool simple = handle && !handle->rewritten && !handle->cell;
  return simple ? handle->first_value : read_operand(handle, &read_now);
}
// A tensor's value for anything else: a plain number is a float32, or an int64.
inline Tensor value(mt_tensor* handle) {
  Tensor result;
  const Tensor& given = operand(handle, std::move(result));
  if (given->is_plain_number) return tensor_of_number(given);
  if (&given != &result) result = given;
  return result;
}
// value() without a reference of its own, for a caller that reads it just once.
inline const Tensor& borrowed_value(mt_tensor* handle, Tensor* read_now) {
  const Tensor& given = operand(handle, std::move(*read_now));
  return given->is_plain_number ? *read_now = tensor_of_number(given) : given;
}
// value() of an argument for which NULL stands for no tensor.
inline Tensor optional_value(mt_tensor* handle) { return handle ? value(handle) : Tensor(); }

std::vector<Tensor> values(mt_tensor* const* handles, size_t count);

// Sizes or axes, given as pointer and count.
Dims dims(const int64_t* sizes, size_t count);
inline Shape shape(const int64_t* sizes, size_t count) { return dims(sizes, count); }
// A number for an int parameter, such as an axis, without wrapping.
int small(int64_t number);

Dtype dtype(mt_dtype code);

[[noreturn]] void fail_struct_size(size_t size);

// Options whose struct may be longer than ours or, of an older header, shorter: what it lacks has
// the default. `first_size` is what it had in the first release.
template <class Options>
Options options(const Options* given, const Options& defaults,
                size_t first_size = sizeof(Options)) {
  Options result = defaults;
  if (given) {
    if (given->struct_size < first_size) fail_struct_size(given->struct_size);
    size_t size = given->struct_size < sizeof(Options) ? given->struct_size : sizeof(Options);
    std::memcpy(static_cast<void*>(&result), static_cast<const void*>(given), size);
    result.struct_size = sizeof(Options);
  }
  return result;
}

}  // namespace mt::api
