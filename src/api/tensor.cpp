// SPDX-License-Identifier: Apache-2.0
// The C functions of mtorch/tensor.h on types, metadata, copies and rebinding.
#include "mtorch/tensor.h"

#include <cstdlib>

#include "api/guard.h"
#include "backends/devices.h"
#include "backends/transfer.h"
#include "ops/ops.h"

using namespace mt;
using namespace mt::api;

namespace {

// What a tensor is, without reading or computing it.
Tensor described(mt_tensor* tensor) { return required(tensor, "the tensor")->peek(); }

Dtype settled_dtype(const Tensor& x) {
  return x->is_plain_number && is_floating(x.dtype()) ? Dtype::float32 : x.dtype();
}

}  // namespace

const char* mt_dtype_name(mt_dtype type) {
  return read<const char*>("dtype_name", nullptr, [&] { return name_of(dtype(type)); });
}
size_t mt_dtype_size(mt_dtype type) {
  return read<size_t>("dtype_size", 0, [&] { return size_of(dtype(type)); });
}
mt_dtype mt_promote_types(mt_dtype a, mt_dtype b) {
  return read<mt_dtype>("promote_types", 0,
                        [&] { return to_code(promote(dtype(a), dtype(b), "promote_types")); });
}

size_t mt_ndim(mt_tensor* tensor) {
  return read<size_t>("ndim", 0, [&] { return static_cast<size_t>(described(tensor).rank()); });
}
const int64_t* mt_dims(mt_tensor* tensor) {
  return read<const int64_t*>("dims", nullptr, [&] { return described(tensor).shape().data(); });
}
int64_t mt_dim(mt_tensor* tensor, int64_t axis) {
  return read<int64_t>("dim", -1, [&] {
    Tensor x = described(tensor);
    return x.shape()[normalize_axis(axis, x.rank(), "dim")];
  });
}
int64_t mt_size(mt_tensor* tensor) {
  return read<int64_t>("size", -1, [&] { return described(tensor).size(); });
}
mt_dtype mt_dtype_of(mt_tensor* tensor) {
  return read<mt_dtype>("dtype_of", 0, [&] { return to_code(settled_dtype(described(tensor))); });
}
const char* mt_device_of(mt_tensor* tensor) {
  return read<const char*>("device_of", nullptr,
                           [&] { return described(tensor).device().name.c_str(); });
}

mt_tensor* mt_astype(mt_tensor* x, mt_dtype type) {
  return give("astype", [&] { return cast(operand(x), dtype(type)); });
}
mt_tensor* mt_copy(mt_tensor* x) {
  return give("copy", [&] { return copy(value(x)); });
}
mt_tensor* mt_to_device(mt_tensor* x, const char* device) {
  return give("to_device", [&] { return to_device(value(x), find_device(device)); });
}

mt_status mt_assign(mt_tensor* x, mt_tensor* given) {
  return change("assign", [&] {
    Tensor old = described(x);
    Tensor replacement = value(given);
    if (replacement.shape() != old.shape()) {
      fail(Code::shape, "assign: a value of shape %s for a tensor of shape %s",
           to_string(replacement.shape()).c_str(), to_string(old.shape()).c_str());
    }
    if (replacement.dtype() != settled_dtype(old)) {
      fail(Code::dtype, "assign: a value of %s for a tensor of %s", name_of(replacement.dtype()),
           name_of(settled_dtype(old)));
    }
    if (&replacement.device() != &old.device()) {
      fail(Code::device, "assign: a value on %s for a tensor on %s",
           replacement.device().name.c_str(), old.device().name.c_str());
    }
    rebind(x, std::move(replacement));
  });
}

void mt_free_string(char* text) { std::free(text); }
