// SPDX-License-Identifier: Apache-2.0
// The C functions of mtorch/view.h that change shapes.
#include "mtorch/view.h"

#include "api/guard.h"
#include "ops/ops.h"

using namespace mt;
using namespace mt::api;

mt_tensor* mt_reshape(mt_tensor* x, const int64_t* sizes, size_t ndim) {
  return give("reshape", [&] { return reshape(value(x), shape(sizes, ndim)); });
}

mt_tensor* mt_permute_dims(mt_tensor* x, const int64_t* axes, size_t naxes) {
  return give("permute_dims", [&] { return permute(value(x), dims(axes, naxes)); });
}

mt_tensor* mt_transpose(mt_tensor* x, int64_t axis0, int64_t axis1) {
  return give("transpose", [&] {
    Tensor source = value(x);
    Dims order;
    for (int i = 0; i < source.rank(); ++i) order.push_back(i);
    std::swap(order[normalize_axis(axis0, source.rank(), "transpose")],
              order[normalize_axis(axis1, source.rank(), "transpose")]);
    return permute(source, order);
  });
}

mt_tensor* mt_matrix_transpose(mt_tensor* x) {
  return give("matrix_transpose", [&] { return transpose(value(x)); });
}

mt_tensor* mt_broadcast_to(mt_tensor* x, const int64_t* sizes, size_t ndim) {
  return give("broadcast_to", [&] {
    Tensor source = value(x);
    Shape target = shape(sizes, ndim);
    check_shape(target, size_of(source.dtype()), "broadcast_to");
    return expand(source, target);
  });
}

mt_tensor* mt_expand_dims(mt_tensor* x, int64_t axis) {
  return give("expand_dims", [&] {
    Tensor source = value(x);
    if (source.rank() == max_rank) {
      fail(Code::shape, "expand_dims: %s has %d dimensions already",
           to_string(source.shape()).c_str(), max_rank);
    }
    return unsqueeze(source, normalize_axis(axis, source.rank() + 1, "expand_dims"));
  });
}

mt_tensor* mt_squeeze(mt_tensor* x, const int64_t* axes, size_t naxes) {
  return give("squeeze", [&] { return squeeze(value(x), dims(axes, naxes)); });
}

mt_tensor* mt_flip(mt_tensor* x, const int64_t* axes, size_t naxes) {
  return give("flip", [&] { return flip(value(x), dims(axes, naxes)); });
}

mt_tensor* mt_window(mt_tensor* x, int64_t axis, int64_t size, int64_t step, int64_t dilation) {
  return give("window", [&] {
    Tensor source = value(x);
    if (source.rank() == max_rank) {
      fail(Code::shape, "window: %s has %d dimensions already", to_string(source.shape()).c_str(),
           max_rank);
    }
    int along = normalize_axis(axis, source.rank(), "window");
    return window(source, along, size, step, dilation);
  });
}
