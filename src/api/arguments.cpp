// SPDX-License-Identifier: Apache-2.0
#include "api/arguments.h"

#include <climits>

#include "base/error.h"
#include "graph/evaluate.h"
#include "ops/ops.h"

namespace mt::api {

// Memory that its owner keeps writing is read when an operator is called, not when it runs.
Tensor snapshot(const mt_tensor* handle) {
  Tensor result = copy(handle->get());
  evaluate(result);
  return result;
}

const Tensor& read_operand(mt_tensor* handle, Tensor* read_now) {
  if (!handle) fail_null("a tensor");
  if (!handle->rewritten && !handle->cell) return handle->first_value;
  return *read_now = handle->rewritten ? snapshot(handle) : handle->cell->get();
}

Tensor tensor_of_number(const Tensor& number) {
  return cast(number, is_floating(number.dtype()) ? Dtype::float32 : number.dtype());
}

void fail_struct_size(size_t size) {
  throw ArgumentError(Code::invalid, "struct_size is " + std::to_string(size) +
                                         "; begin the struct with its _INIT, or with its sizeof");
}

std::vector<Tensor> values(mt_tensor* const* handles, size_t count) {
  if (count) required(handles, "the array of tensors");
  std::vector<Tensor> result;
  result.reserve(count);
  for (size_t i = 0; i < count; ++i) result.push_back(value(handles[i]));
  return result;
}

Dims dims(const int64_t* sizes, size_t count) {
  if (count == 0) return {};
  required(sizes, "the array of sizes or axes");
  if (count > static_cast<size_t>(max_rank)) {
    throw ArgumentError(
        Code::shape,
        std::to_string(count) + " dimensions given; there are at most " + std::to_string(max_rank));
  }
  return Dims(sizes, static_cast<int>(count));
}

int small(int64_t number) {
  if (number > INT_MAX) return INT_MAX;
  return number < INT_MIN ? INT_MIN : static_cast<int>(number);
}

Dtype dtype(mt_dtype code) {
  Dtype result;
  if (!from_code(code, &result)) {
    throw ArgumentError(Code::invalid, std::to_string(code) + " is no dtype");
  }
  return result;
}

}  // namespace mt::api
