// SPDX-License-Identifier: Apache-2.0
// What attention and its gradient share: their operands as matrices, slices of them in shared
// memory, and what becomes of a score.
#pragma once

#include <type_traits>

#include "backends/cuda/call_kernels.h"
#include "backends/cuda/device/operators.h"
#include "backends/cuda/device/positions.h"
#include "backends/cuda/device/tile.h"

namespace mt::cuda {

constexpr int attention_queries = 64;   // of a block
constexpr int attention_depth = 16;     // of a slice along what a product sums over
constexpr int attention_columns = 128;  // of a result, of a block

// Query is [batch, n, d], key [batch, m, d], value [batch, m, e].
struct AttentionShape {
  int64_t batch, n, m, d, e;
  bool causal;
};
inline AttentionShape attention_shape(const CallGroup& group) {
  const Shape &query = group.inputs[0].layout.shape, &value = group.inputs[2].layout.shape;
  int last = query.rank() - 1;
  AttentionShape shape{1,           query[last - 1], value[last - 1],
                       query[last], value[last],     group.attributes[0] != 0};
  for (int i = 0; i < last - 1; ++i) shape.batch *= query[i];
  return shape;
}

// One batch entry of an operand, of numbers of type T or, where that is float, of 16-bit floats.
template <class T>
struct Matrix {
  const char* data;
  Dtype dtype;
  int64_t rows, columns, row_stride, column_stride;

  __device__ T at(int64_t row, int64_t column) const {
    int64_t i = row * row_stride + column * column_stride;
    if constexpr (std::is_same_v<T, float>) {
      auto half = reinterpret_cast<const uint16_t*>(data);
      if (dtype == Dtype::bfloat16) return bfloat16_to_float(load(half, i));
      if (dtype == Dtype::float16) return float16_to_float(load(half, i));
    }
    return load(reinterpret_cast<const T*>(data), i);
  }
};
template <class T>
__device__ Matrix<T> matrix_of(const ArrayView& array, int64_t entry) {
  const LayoutView& layout = array.layout;
  int last = layout.rank - 1;
  int64_t rows = layout.shape[last - 1], columns = layout.shape[last];
  bool half = array.dtype == Dtype::bfloat16 || array.dtype == Dtype::float16;
  int64_t size = half ? 2 : static_cast<int64_t>(sizeof(T));
  return {array.data + position(layout, entry * rows * columns) * size,
          array.dtype,
          rows,
          columns,
          layout.strides[last - 1],
          layout.strides[last]};
}

// Brings rows [first, first + count) of a matrix, each times factor(row), to shared memory, where
// row r's number in column c is at[c - column][r]. Neighbouring threads take neighbouring numbers.
template <int count, int pitch, class T, class Factor>
__device__ void bring_rows(size_t to, const Matrix<T>& from, int64_t first, int64_t column,
                           Factor&& factor) {
  auto at = shared<T>(to);
  for (int i = static_cast<int>(threadIdx.x); i < count * attention_depth; i += blockDim.x) {
    int r = i / attention_depth, c = i % attention_depth;
    if (from.column_stride != 1) r = i % count, c = i / count;
    bool within = first + r < from.rows && column + c < from.columns;
    at[c * pitch + r] = within ? from.at(first + r, column + c) * factor(first + r) : T(0);
  }
}

// The same rows as the steps of a product: at[r][c], of `depth` rows from `first` on.
template <int pitch, class T, class Factor>
__device__ void bring_steps(size_t to, const Matrix<T>& from, int64_t first, int64_t column,
                            Factor&& factor) {
  auto at = shared<T>(to);
  for (int i = static_cast<int>(threadIdx.x); i < attention_columns * attention_depth;
       i += blockDim.x) {
    int r = i / attention_columns, c = i % attention_columns;
    bool within = first + r < from.rows && column + c < from.columns;
    at[r * pitch + c] = within ? from.at(first + r, column + c) * factor(first + r) : T(0);
  }
}

// What a score becomes before the softmax.
template <class T>
struct Visibility {
  bool masks, chooses, causal;
  Matrix<T> numbers;     // added, or
  Matrix<uint8_t> seen;  // chosen by

  __device__ Visibility(const CallView& call, int mask, bool is_causal, int64_t entry)
      : masks(call.input_count > mask), chooses(false), causal(is_causal), numbers{}, seen{} {
    if (!masks) return;
    const ArrayView& array = view(call.inputs, mask);
    chooses = array.dtype == Dtype::boolean;
    if (chooses)
      seen = matrix_of<uint8_t>(array, entry);
    else
      numbers = matrix_of<T>(array, entry);
  }
  __device__ T operator()(T score, int64_t query, int64_t key) const {
    if (masks && !chooses) score = score + numbers.at(query, key);
    bool hidden = (causal && key > query) || (chooses && !seen.at(query, key));
    return hidden ? identity_of<T>(Reduction::max) : score;
  }
};

// One batch entry of a call, whose mask, if there is one, comes after so many inputs. Operands are
// read as numbers of type N.
template <class T, class N = T>
struct AttentionEntry {
  const AttentionShape& shape;
  const int64_t entry;
  const T scale;
  const Matrix<N> query, key, value;
  const Visibility<T> visible;

  __device__ AttentionEntry(const CallView& call, const AttentionShape& of_call, int64_t index,
                            int inputs)
      : shape(of_call),
        entry(index),
        scale(static_cast<T>(unpack<double>(call.immediate.value[0]))),
        query(matrix_of<N>(view(call.inputs, 0), index)),
        key(matrix_of<N>(view(call.inputs, 1), index)),
        value(matrix_of<N>(view(call.inputs, 2), index)),
        visible(call, inputs, of_call.causal, index) {}
};

// What a query's weights are divided by: the weights of one that sees nothing are 0, and stay so.
template <class T>
__device__ T divisor_of(T total) {
  return total == T(0) ? T(1) : total;
}

// What the gradient keeps of a query: of `before`, attention's result, and in scratch.
template <class T>
struct AttentionRows {
  const T* shifts;
  T *shares, *means;  // 1 / total; what the softmax takes off the slope of each score

  __device__ AttentionRows(const CallView& call, const AttentionShape& shape, T* scratch)
      : shifts(reinterpret_cast<const T*>(view(call.inputs, 4).data) +
               shape.batch * shape.n * shape.e),
        shares(scratch),
        means(scratch + shape.batch * shape.n) {}
};
// Fills shares and means (attention_gradient.cu).
void launch_attention_means(const Call& call, const AttentionShape& shape);
// On the tensor cores, for what suits them (attention_half.cu, attention_half_gradient.cu).
bool suits_attention_half(const Call& call, const AttentionShape& shape);
void launch_attention_half(const Call& call, const AttentionShape& shape);
void launch_attention_half_gradient(const Call& call, const AttentionShape& shape);
// On Hopper's, for what suits those, too (attention_hopper.cu, attention_hopper_gradient.cu).
bool suits_attention_hopper(const Call& call, const AttentionShape& shape);
void launch_attention_hopper(const Call& call, const AttentionShape& shape);
void launch_attention_hopper_gradient(const Call& call, const AttentionShape& shape);

}  // namespace mt::cuda
