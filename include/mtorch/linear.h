// SPDX-License-Identifier: Apache-2.0
/// @file linear.h
/// Contractions: matrix products, Einstein sums, convolution; and pooling over the same windows.
///
/// Operands work in their promoted type, which the result has; 16-bit floats multiply and
/// accumulate in float32. Convolution and pooling take floats, products integers too, whose sums
/// keep the low bits of their type; mt_matmul(), mt_einsum(), mt_tensordot() and mt_linear()
/// without bias also bool, of which they tell whether any product is true. Operands are used
/// through their strides, nothing is copied to transpose. The order of every sum depends on the
/// sizes alone, and on the precision mode below. All are differentiable on floats, to any order.
#ifndef MTORCH_LINEAR_H_
#define MTORCH_LINEAR_H_

#include "tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

// ------------------------------------------------------------------------------------- Precision

/// How exactly products of float32 matrices are formed: by mt_matmul(), mt_linear(), mt_einsum()
/// and whatever else is a sum of products of two tensors, but not by convolutions and attention. In
/// terms of S, the sum of the absolute products that make up an element:
enum {
  /// Float32 as written: the same bits on every machine.
  MT_PRECISION_STRICT = 0,
  /// Each number as the sum of three bfloat16, whose products a matrix unit adds up in float32: the
  /// error stays below 1e-6 S, as float32's own, and is usually smaller than that.
  MT_PRECISION_SPLIT = 1,
  /// Each number rounded to bfloat16; sums in float32. The error stays below S / 125.
  MT_PRECISION_BF16 = 2,
  /// Each number rounded to nearest, to 11 significant bits, with float32's exponents
  /// (NVIDIA's TF32); sums in float32. The error stays below S / 1000. Only GPUs have a unit for
  /// it: on the CPU it is MT_PRECISION_STRICT.
  MT_PRECISION_TF32 = 3
};
/// The mode that products are recorded in: at first what the environment's MT_MATMUL_PRECISION says
/// ("strict", "split", "bf16" or "tf32"), else MT_PRECISION_STRICT.
MT_API int mt_matmul_precision(void);
/// Sets it, for the whole process. What was recorded before, a trace too, keeps its mode, and
/// gradients have that of their product. All are strict without a matrix unit (on x86-64 Linux AMX,
/// and AVX512_BF16 for MT_PRECISION_BF16; a GPU's tensor cores) and for fewer than 32 rows, columns
/// or terms; split and bfloat16 also for fewer than 2 million multiplications, for more than 1 GiB
/// of bfloat16, and where numbers are not finite, not 0 but below 2^-103, or may have products
/// beyond float32 or below 2^-102. The result depends neither on threads nor on the way of running,
/// but on the machine.
MT_API mt_status mt_set_matmul_precision(int precision);
/// Whether a device has something faster for the mode than strict float32. Records no error.
MT_API bool mt_matmul_precision_available(int precision, const char* device);

// -------------------------------------------------------------------------------------- Products

/// The matrix product [..., m, k] x [..., k, n] = [..., m, n]; leading axes broadcast. An operand
/// of one dimension is a row on the left, a column on the right, and its axis is dropped. Integers
/// multiply too, in their own type, where large sums wrap around; of bool an element tells whether
/// any product is true.
MT_API mt_tensor* mt_matmul(mt_tensor* a, mt_tensor* b);
/// x weight^T + bias: [..., in] with weight [out, in] and bias [out] or NULL gives [..., out].
MT_API mt_tensor* mt_linear(mt_tensor* x, mt_tensor* weight, mt_tensor* bias);
/// The Einstein sum, by NumPy's full grammar: "ij,jk->ik"; without "->" the labels that occur once,
/// in alphabetical order; a label repeated within an operand takes its diagonal; "..." broadcasts.
/// Several operands are contracted in pairs, in the order with the fewest multiplications (all are
/// tried up to 6 operands, greedily beyond). MT_EINVAL for a malformed equation, with the place.
MT_API mt_tensor* mt_einsum(const char* equation, mt_tensor* const* tensors, size_t n);

/// The sum of products over pairs of axes: axes_a[i] of a with axes_b[i] of b, of one size. The
/// result has the other axes of a, then those of b.
MT_API mt_tensor* mt_tensordot(mt_tensor* a, mt_tensor* b, const int64_t* axes_a,
                               const int64_t* axes_b, size_t naxes);
/// [m] and [n] give [m, n]: y[i, j] = a[i] b[j].
MT_API mt_tensor* mt_outer(mt_tensor* a, mt_tensor* b);
/// The sum of products along one axis, which is the same in both; the others broadcast. `axis`
/// counts from the last, -1, unless both have as many dimensions.
MT_API mt_tensor* mt_vecdot(mt_tensor* a, mt_tensor* b, int64_t axis);
/// The cross product of vectors of 3 along an axis; the others broadcast.
MT_API mt_tensor* mt_cross(mt_tensor* a, mt_tensor* b, int64_t axis);
/// Diagonal k of the last two axes, as a last axis: x[..., i, i + k]. A view; any type.
MT_API mt_tensor* mt_matrix_diagonal(mt_tensor* x, int64_t k);
/// The sum of mt_matrix_diagonal(), typed as mt_sum().
MT_API mt_tensor* mt_matrix_trace(mt_tensor* x, int64_t k);

// ------------------------------------------------------------------------------------ Convolution
// Cross-correlation, as in other libraries: the kernel is not flipped. Padding is zeros, and so is
// what stands between elements, or the kernel's, where the transpose and gradients take strides
// apart. Whether such a zero times an infinity or a NaN makes a NaN is not promised.

/// How a kernel moves: one number for each spatial axis, in order. In `stride`, `dilation` and
/// `groups` 0 counts as 1.
typedef struct mt_conv_options {
  size_t struct_size;
  int64_t stride[3];          ///< step between positions; 1
  int64_t padding[3];         ///< zeros added at both ends; 0
  int64_t dilation[3];        ///< distance between the kernel's elements; 1
  int64_t output_padding[3];  ///< transposes only: added to one end of the result; 0
  int64_t groups;             ///< channels are split into so many independent groups; 1
  bool bias;                  ///< layers only (nn.h): with a bias; true
  bool same;  ///< zeros at both ends so that the size stays, whatever `padding`; false
} mt_conv_options;
#define MT_CONV_OPTIONS_INIT \
  { sizeof(mt_conv_options), {1, 1, 1}, {0, 0, 0}, {1, 1, 1}, {0, 0, 0}, 1, true, false }

/// [batch, in, length] with weight [out, in / groups, kernel] and bias [out] or NULL gives
/// [batch, out, (length + 2 padding - dilation (kernel - 1) - 1) / stride + 1], rounded down:
///
///     y[b, o, p] = bias[o] + sum(weight[o, i, t] x[b, i, p stride + t dilation - padding])
///
/// over t and the channels i of o's group. `options` may be NULL. MT_ESHAPE also when the kernel is
/// larger than the padded input. With `same` the length stays: dilation (kernel - 1) zeros are
/// added, if they are odd one more at the end; MT_EINVAL unless stride is 1.
MT_API mt_tensor* mt_conv1d(mt_tensor* x, mt_tensor* weight, mt_tensor* bias,
                            const mt_conv_options* options);
/// The same over two axes: [batch, in, height, width], weight [out, in / groups, kernel height,
/// kernel width]. Those of 3 x 3 may be computed by minimal filtering (docs/determinism.md).
MT_API mt_tensor* mt_conv2d(mt_tensor* x, mt_tensor* weight, mt_tensor* bias,
                            const mt_conv_options* options);
/// The transpose, which is the gradient of mt_conv1d() to its input: [batch, in, length] with
/// weight [in, out / groups, kernel] and bias [out] or NULL gives [batch, out, length'],
///
///     length' = (length - 1) stride - 2 padding + dilation (kernel - 1) + output_padding + 1
///
/// `output_padding` is less than `stride` or `dilation` (MT_EINVAL). `options` may be NULL.
MT_API mt_tensor* mt_conv_transpose1d(mt_tensor* x, mt_tensor* weight, mt_tensor* bias,
                                      const mt_conv_options* options);
/// The same over two axes: weight [in, out / groups, kernel height, kernel width].
MT_API mt_tensor* mt_conv_transpose2d(mt_tensor* x, mt_tensor* weight, mt_tensor* bias,
                                      const mt_conv_options* options);

// ---------------------------------------------------------------------------------------- Pooling

/// How a pooling window moves. In `stride` 0 counts as the window's size, in `dilation` as 1.
typedef struct mt_pool_options {
  size_t struct_size;
  int64_t stride[3];     ///< step between windows; the window's size
  int64_t padding[3];    ///< added at both ends, at most half the window; 0
  int64_t dilation[3];   ///< distance between the window's elements; 1
  bool exclude_padding;  ///< mean over the elements inside the input only; false
} mt_pool_options;
#define MT_POOL_OPTIONS_INIT \
  { sizeof(mt_pool_options), {0, 0, 0}, {0, 0, 0}, {1, 1, 1}, false }

/// The largest element of each window over the last axis; padding counts as -infinity. Equal
/// largest elements share the gradient equally. Leading axes are free; the size becomes as in
/// mt_conv1d(). `options` may be NULL. MT_ESHAPE when the window is larger than the padded input.
MT_API mt_tensor* mt_max_pool1d(mt_tensor* x, int64_t size, const mt_pool_options* options);
/// The same over the last two axes.
MT_API mt_tensor* mt_max_pool2d(mt_tensor* x, int64_t height, int64_t width,
                                const mt_pool_options* options);
/// The mean of each window over the last axis; padding counts as 0. `options` may be NULL.
MT_API mt_tensor* mt_avg_pool1d(mt_tensor* x, int64_t size, const mt_pool_options* options);
/// The same over the last two axes.
MT_API mt_tensor* mt_avg_pool2d(mt_tensor* x, int64_t height, int64_t width,
                                const mt_pool_options* options);

// ---------------------------------------------------------------------------------------- Resizing

/// The last axes, one for each of `sizes`, at other sizes: element i of an axis of n that becomes
/// one of m is element i n / m, rounded down, as PyTorch's "nearest" has it. (Its "nearest-exact",
/// JAX and Pillow have (i + 1/2) n / m.) Any type. MT_ESHAPE for a size below 1, old or new.
MT_API mt_tensor* mt_resize_nearest(mt_tensor* x, const int64_t* sizes, size_t naxes);
/// The same with what lies at place p between two elements: a (1 - p + j) + b (p - j), where a and
/// b are elements j and j + 1 and j is p rounded down. Element i lies at p = (i + 1/2) n / m - 1/2,
/// as if elements were areas, or with `align_corners` at i (n - 1) / (m - 1), so that first and
/// last elements stay; places outside are moved to the nearest element. Over two axes this is
/// bilinear, PyTorch's of both conventions, and JAX's of the former without its antialiasing:
/// nothing is averaged, so pool an image first that becomes much smaller. Floats, halves by way of
/// float32.
MT_API mt_tensor* mt_resize_linear(mt_tensor* x, const int64_t* sizes, size_t naxes,
                                   bool align_corners);

#ifdef __cplusplus
}
#endif
#endif
