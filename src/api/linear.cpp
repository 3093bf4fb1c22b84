// SPDX-License-Identifier: Apache-2.0
// The C functions of mtorch/linear.h.
#include "mtorch/linear.h"
#include "backends/devices.h"

#include "api/guard.h"
#include "api/options.h"
#include "backends/backend.h"
#include "ops/ops.h"
#include "ops/precision.h"

using namespace mt::api;
using mt::Dims;
using mt::Tensor;

namespace {

// The first `count` numbers of an option; 0 stands for `standard`.
Dims each(const int64_t* numbers, int count, int64_t standard) {
  Dims result;
  for (int i = 0; i < count; ++i) result.push_back(numbers[i] ? numbers[i] : standard);
  return result;
}

mt_tensor* convolve(const char* name, int axes, bool transposed, mt_tensor* x, mt_tensor* weight,
                    mt_tensor* bias, const mt_conv_options* given) {
  return give(name, [&] {
    static const mt_conv_options defaults = MT_CONV_OPTIONS_INIT;
    mt::Convolution how = convolution_of(options(given, defaults), axes);
    Tensor input = value(x), kernel = value(weight), offset = optional_value(bias);
    return transposed ? mt::convolution_transpose(input, kernel, offset, how)
                      : mt::convolution(input, kernel, offset, how);
  });
}

mt_tensor* pool(const char* name, Tensor (*operation)(const Tensor&, const mt::Pooling&),
                mt_tensor* x, const Dims& size, const mt_pool_options* given) {
  return give(name, [&] {
    static const mt_pool_options defaults = MT_POOL_OPTIONS_INIT;
    mt_pool_options o = options(given, defaults);
    mt::Pooling how{size, size, each(o.padding, size.rank(), 0), each(o.dilation, size.rank(), 1),
                    o.exclude_padding};
    for (int i = 0; i < size.rank(); ++i) {
      if (o.stride[i]) how.stride[i] = o.stride[i];
    }
    return operation(value(x), how);
  });
}

}  // namespace

int mt_matmul_precision(void) { return static_cast<int>(mt::matmul_precision()); }

mt_status mt_set_matmul_precision(int precision) {
  return change("set_matmul_precision", [&] {
    if (precision < 0 || precision >= mt::precision_count) {
      mt::fail(mt::Code::invalid, "set_matmul_precision: there is no mode %d", precision);
    }
    mt::set_matmul_precision(static_cast<mt::Precision>(precision));
  });
}

bool mt_matmul_precision_available(int precision, const char* device) {
  if (precision <= MT_PRECISION_STRICT || precision >= mt::precision_count) return false;
  try {
    const mt::Backend& backend = *mt::find_device(device).backend;
    return backend.has_kernels_for(static_cast<mt::Precision>(precision));
  } catch (...) {
    return false;
  }
}

mt_tensor* mt_matmul(mt_tensor* a, mt_tensor* b) {
  return give("matmul", [&] {
    Tensor read_a, read_b;
    return mt::matmul(borrowed_value(a, &read_a), borrowed_value(b, &read_b));
  });
}

mt_tensor* mt_linear(mt_tensor* x, mt_tensor* weight, mt_tensor* bias) {
  return give("linear", [&] { return mt::linear(value(x), value(weight), optional_value(bias)); });
}

mt_tensor* mt_einsum(const char* equation, mt_tensor* const* tensors, size_t n) {
  return give("einsum",
              [&] { return mt::einsum(required(equation, "the equation"), values(tensors, n)); });
}

mt_tensor* mt_tensordot(mt_tensor* a, mt_tensor* b, const int64_t* axes_a, const int64_t* axes_b,
                        size_t naxes) {
  return give("tensordot", [&] {
    return mt::tensordot(value(a), value(b), dims(axes_a, naxes), dims(axes_b, naxes));
  });
}

mt_tensor* mt_outer(mt_tensor* a, mt_tensor* b) {
  return give("outer", [&] { return mt::outer(value(a), value(b)); });
}

mt_tensor* mt_vecdot(mt_tensor* a, mt_tensor* b, int64_t axis) {
  return give("vecdot", [&] { return mt::vecdot(value(a), value(b), axis); });
}

mt_tensor* mt_cross(mt_tensor* a, mt_tensor* b, int64_t axis) {
  return give("cross", [&] { return mt::cross(value(a), value(b), axis); });
}

mt_tensor* mt_matrix_diagonal(mt_tensor* x, int64_t k) {
  return give("matrix_diagonal", [&] { return mt::matrix_diagonal(value(x), k); });
}

mt_tensor* mt_matrix_trace(mt_tensor* x, int64_t k) {
  return give("matrix_trace", [&] { return mt::matrix_trace(value(x), k); });
}

mt_tensor* mt_conv1d(mt_tensor* x, mt_tensor* weight, mt_tensor* bias,
                     const mt_conv_options* options) {
  return convolve("conv1d", 1, false, x, weight, bias, options);
}
mt_tensor* mt_conv2d(mt_tensor* x, mt_tensor* weight, mt_tensor* bias,
                     const mt_conv_options* options) {
  return convolve("conv2d", 2, false, x, weight, bias, options);
}
mt_tensor* mt_conv_transpose1d(mt_tensor* x, mt_tensor* weight, mt_tensor* bias,
                               const mt_conv_options* options) {
  return convolve("conv_transpose1d", 1, true, x, weight, bias, options);
}
mt_tensor* mt_conv_transpose2d(mt_tensor* x, mt_tensor* weight, mt_tensor* bias,
                               const mt_conv_options* options) {
  return convolve("conv_transpose2d", 2, true, x, weight, bias, options);
}

mt_tensor* mt_max_pool1d(mt_tensor* x, int64_t size, const mt_pool_options* options) {
  return pool("max_pool1d", mt::max_pool, x, {size}, options);
}
mt_tensor* mt_max_pool2d(mt_tensor* x, int64_t height, int64_t width,
                         const mt_pool_options* options) {
  return pool("max_pool2d", mt::max_pool, x, {height, width}, options);
}
mt_tensor* mt_avg_pool1d(mt_tensor* x, int64_t size, const mt_pool_options* options) {
  return pool("avg_pool1d", mt::avg_pool, x, {size}, options);
}
mt_tensor* mt_avg_pool2d(mt_tensor* x, int64_t height, int64_t width,
                         const mt_pool_options* options) {
  return pool("avg_pool2d", mt::avg_pool, x, {height, width}, options);
}

mt_tensor* mt_resize_nearest(mt_tensor* x, const int64_t* sizes, size_t naxes) {
  return give("resize_nearest", [&] { return mt::resize_nearest(value(x), dims(sizes, naxes)); });
}
mt_tensor* mt_resize_linear(mt_tensor* x, const int64_t* sizes, size_t naxes, bool align_corners) {
  return give("resize_linear",
              [&] { return mt::resize_linear(value(x), dims(sizes, naxes), align_corners); });
}
