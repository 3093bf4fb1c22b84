// SPDX-License-Identifier: Apache-2.0
// What attention and its gradient work on: some queries of one batch entry against some keys.
#pragma once

#include <cstdint>

#include "backends/cpu/contract/operand.h"
#include "ops/naive.h"
#include "ops/order.h"

namespace mt::cpu {

constexpr int64_t block_queries = 64;  // at most; no sum depends on it

// The matrices of an operand, [batch..., rows, columns].
struct Matrices {
  const void* data;
  Dtype dtype;
  Axis batch;
  int64_t row, column;  // strides

  template <class T>
  const T* at(int64_t entry) const {
    return static_cast<const T*>(data) + batch.offset(entry);
  }
};
Matrices matrices(const NaiveArray& array);

// Query is [batch, n, d], key [batch, m, d], value [batch, m, e].
struct AttentionSizes {
  int64_t batch, n, m, d, e;
  AttentionSizes(const Shape& query, const Shape& key, const Shape& value);
  // Of a call whose first inputs are query, key and value.
  template <class Call>
  explicit AttentionSizes(const Call& call)
      : AttentionSizes(call.inputs[0].layout.shape, call.inputs[1].layout.shape,
                       call.inputs[2].layout.shape) {}
  int64_t blocks() const { return (n + block_queries - 1) / block_queries; }
  // How many threads to use; one where a parallel region would cost more than it saves.
  int threads(int most) const;
};

struct AttentionCall {
  AttentionSizes sizes;
  Matrices query, key, value, mask;  // mask.data: nullptr where there is none
  bool causal;
  int64_t heads;  // of the result, side by side in its rows
  double scale;

  // Query, key and value come first; the mask, if there is one, comes after `inputs` inputs.
  AttentionCall(const NaiveCall& call, size_t inputs);
  // Matrices in [batch / heads, rows, heads, columns], whose rows are `row` elements apart.
  Matrices beside(const void* data, Dtype dtype, int64_t rows, int64_t columns, int64_t row) const;
  // The result, [batch / heads, n, heads, e].
  Matrices result_at(const void* data, Dtype dtype) const {
    return beside(data, dtype, sizes.n, sizes.e, heads * sizes.e);
  }
  // How many keys the queries before `end` may see.
  int64_t keys_before(int64_t end) const { return causal && end < sizes.m ? end : sizes.m; }
};

struct AttentionBlock {
  int64_t entry, first, count;  // queries
  int64_t key_begin, key_end;
};
// Block `index` of a batch entry, with all keys that its queries see.
AttentionBlock block_of(const AttentionCall& call, int64_t entry, int64_t index);
// The next block if they are taken upwards (step: 1) or downwards (-1), of this entry or the one
// after it; after the last one, a block without queries.
AttentionBlock block_after(const AttentionCall& call, const AttentionBlock& block, int64_t step);

// A cache line between the scores of one key and the next: those of a few queries against all keys,
// which are read together, would otherwise map to a quarter of the first-level cache.
template <class T>
constexpr int64_t pitch_gap = 64 / sizeof(T);
constexpr int64_t most_pitch = block_queries + pitch_gap<float>;

// How many numbers of scratch a block needs for its scores.
inline int64_t scores_scratch(const AttentionSizes& sizes) {
  return (sizes.d + attention_panel) * block_queries;
}

// ... and for `rows` rows of an operand that are packed in panels of up to 64 columns.
inline int64_t panels_scratch(int64_t rows, int64_t columns) {
  return (columns + 63) / 64 * 64 * rows;
}

}  // namespace mt::cpu
