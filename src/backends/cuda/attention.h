// SPDX-License-Identifier: Apache-2.0
// What attention and its gradient share: their operands as matrices, slices of them in shared
// memory, and what becomes of a score.
#pragma once

#include "backends/cuda/call_kernels.h"
#include "backends/cuda/operators.h"
#include "backends/cuda/positions.h"
#include "backends/cuda/tile.h"

namespace mt::cuda {

constexpr int attention_queries = 64;   // of a block
constexpr int attention_depth = 16;     // of a slice along what a product sums over
constexpr int attention_columns = 128;  // of a result, of a block

// Query is [batch, n, d], key [batch, m, d], value [batch, m, e].
struct AttentionShape {
  int64_t batch, n, m, d, e;
  bool causal;
};
inline AttentionShape attention_shape(const Group& group) {
  const Shape &query = group.inputs[0].layout.shape, &value = group.inputs[2].layout.shape;
  int last = query.rank() - 1;
  AttentionShape shape{1,           query[last - 1], value[last - 1],
                       query[last], value[last],     group.attributes[0] != 0};
  for (int i = 0; i < last - 1; ++i) shape.batch *= query[i];
  return shape;
}

// One batch entry of an operand.
template <class T>
struct Matrix {
  const T* data;
  int64_t rows, columns, row_stride, column_stride;

  __device__ T at(int64_t row, int64_t column) const {
    return load(data, row * row_stride + column * column_stride);
  }
};
template <class T>
__device__ Matrix<T> matrix_of(const ArrayView& array, int64_t entry) {
  const LayoutView& layout = array.layout;
  int last = layout.rank - 1;
  int64_t rows = layout.shape[last - 1], columns = layout.shape[last];
  return {reinterpret_cast<const T*>(array.data) + position(layout, entry * rows * columns), rows,
          columns, layout.strides[last - 1], layout.strides[last]};
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

}  // namespace mt::cuda
