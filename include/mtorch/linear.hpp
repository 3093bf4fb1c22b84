// SPDX-License-Identifier: Apache-2.0
/// @file linear.hpp
/// Contractions and pooling. See mtorch.hpp.
#ifndef MTORCH_LINEAR_HPP_
#define MTORCH_LINEAR_HPP_

#include <array>

#include "linear.h"
#include "tensor.hpp"

namespace mtorch {

/// How exactly products of matrices are formed; see linear.h.
enum class Precision {
  strict = MT_PRECISION_STRICT,
  split = MT_PRECISION_SPLIT,
  bf16 = MT_PRECISION_BF16,
  tf32 = MT_PRECISION_TF32
};
inline Precision matmul_precision() { return static_cast<Precision>(mt_matmul_precision()); }
inline void set_matmul_precision(Precision precision) {
  check(mt_set_matmul_precision(static_cast<int>(precision)));
}
inline bool matmul_precision_available(Precision precision, const Device& device = {}) {
  return mt_matmul_precision_available(static_cast<int>(precision), device);
}

/// Within its life products of matrices are recorded in a mode, in the whole process.
class MatmulPrecision {
 public:
  explicit MatmulPrecision(Precision precision) : before_(mt_matmul_precision()) {
    set_matmul_precision(precision);
  }
  ~MatmulPrecision() { mt_set_matmul_precision(before_); }
  MatmulPrecision(const MatmulPrecision&) = delete;

 private:
  int before_;
};

inline Tensor matmul(const Tensor& a, const Tensor& b) {
  return Tensor::own(mt_matmul(a.get(), b.get()));
}
inline Tensor tensordot(const Tensor& a, const Tensor& b, Dims axes_a, Dims axes_b) {
  detail::same_length("tensordot", axes_a, axes_b);
  return Tensor::own(mt_tensordot(a.get(), b.get(), axes_a.data(), axes_b.data(), axes_a.size()));
}
inline Tensor outer(const Tensor& a, const Tensor& b) {
  return Tensor::own(mt_outer(a.get(), b.get()));
}
inline Tensor vecdot(const Tensor& a, const Tensor& b, int64_t axis = -1) {
  return Tensor::own(mt_vecdot(a.get(), b.get(), axis));
}
inline Tensor cross(const Tensor& a, const Tensor& b, int64_t axis = -1) {
  return Tensor::own(mt_cross(a.get(), b.get(), axis));
}
inline Tensor matrix_diagonal(const Tensor& x, int64_t k = 0) {
  return Tensor::own(mt_matrix_diagonal(x.get(), k));
}
inline Tensor matrix_trace(const Tensor& x, int64_t k = 0) {
  return Tensor::own(mt_matrix_trace(x.get(), k));
}
inline Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {}) {
  return Tensor::own(mt_linear(x.get(), weight.get(), bias.get()));
}
inline Tensor einsum(const char* equation, const Tensors& tensors) {
  return Tensor::own(mt_einsum(equation, detail::handles(tensors).data(), tensors.size()));
}

/// mt_conv_options; a number for each spatial axis.
struct ConvOptions {
  std::array<int64_t, 3> stride{1, 1, 1}, padding{}, dilation{1, 1, 1}, output_padding{};
  int64_t groups = 1;
  bool bias = true, same = false;
  /// As C has it.
  mt_conv_options c() const {
    mt_conv_options o = MT_CONV_OPTIONS_INIT;
    for (size_t i = 0; i < 3; ++i) {
      o.stride[i] = stride[i], o.padding[i] = padding[i];
      o.dilation[i] = dilation[i], o.output_padding[i] = output_padding[i];
    }
    o.groups = groups, o.bias = bias, o.same = same;
    return o;
  }
};
/// mt_pool_options; a number for each spatial axis.
struct PoolOptions {
  std::array<int64_t, 3> stride{}, padding{}, dilation{1, 1, 1};
  bool exclude_padding = false;
  /// As C has it.
  mt_pool_options c() const {
    mt_pool_options o = MT_POOL_OPTIONS_INIT;
    for (size_t i = 0; i < 3; ++i) {
      o.stride[i] = stride[i], o.padding[i] = padding[i], o.dilation[i] = dilation[i];
    }
    o.exclude_padding = exclude_padding;
    return o;
  }
};

/// @cond
#define MT_CONVOLUTION_(name)                                                        \
  inline Tensor name(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, \
                     const ConvOptions& options = {}) {                              \
    mt_conv_options o = options.c();                                                 \
    return Tensor::own(mt_##name(x.get(), weight.get(), bias.get(), &o));            \
  }                                                                                  \
  static_assert(true)
/// @endcond
MT_CONVOLUTION_(conv1d);
MT_CONVOLUTION_(conv2d);
MT_CONVOLUTION_(conv_transpose1d);
MT_CONVOLUTION_(conv_transpose2d);
#undef MT_CONVOLUTION_

inline Tensor max_pool1d(const Tensor& x, int64_t size, const PoolOptions& options = {}) {
  mt_pool_options o = options.c();
  return Tensor::own(mt_max_pool1d(x.get(), size, &o));
}
inline Tensor max_pool2d(const Tensor& x, int64_t height, int64_t width,
                         const PoolOptions& options = {}) {
  mt_pool_options o = options.c();
  return Tensor::own(mt_max_pool2d(x.get(), height, width, &o));
}
inline Tensor avg_pool1d(const Tensor& x, int64_t size, const PoolOptions& options = {}) {
  mt_pool_options o = options.c();
  return Tensor::own(mt_avg_pool1d(x.get(), size, &o));
}
inline Tensor avg_pool2d(const Tensor& x, int64_t height, int64_t width,
                         const PoolOptions& options = {}) {
  mt_pool_options o = options.c();
  return Tensor::own(mt_avg_pool2d(x.get(), height, width, &o));
}
inline Tensor resize_nearest(const Tensor& x, Dims sizes) {
  return Tensor::own(mt_resize_nearest(x.get(), sizes.data(), sizes.size()));
}
inline Tensor resize_linear(const Tensor& x, Dims sizes, bool align_corners = false) {
  return Tensor::own(mt_resize_linear(x.get(), sizes.data(), sizes.size(), align_corners));
}

}  // namespace mtorch

#endif
