// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/attention/block.h"

#include <algorithm>

namespace mt::cpu {

Matrices matrices(const NaiveArray& array) {
  const Layout& layout = array.layout;
  const int last = layout.shape.rank() - 1;
  Axis batch;
  for (int d = 0; d < last - 1; ++d) batch.append(layout.shape[d], layout.strides[d]);
  const char* first = static_cast<const char*>(array.data) +
                      layout.offset * static_cast<int64_t>(size_of(array.dtype));
  return {first, array.dtype, batch, layout.strides[last - 1], layout.strides[last]};
}

AttentionSizes::AttentionSizes(const Shape& query, const Shape& key, const Shape& value)
    : batch(1),
      n(query[query.rank() - 2]),
      m(key[key.rank() - 2]),
      d(query.back()),
      e(value.back()) {
  for (int i = 0; i < query.rank() - 2; ++i) batch *= query[i];
}

int AttentionSizes::threads(int most) const {
  constexpr double least_work = 500 * 1000;
  return static_cast<double>(batch * n) * static_cast<double>(m * (d + e)) < least_work ? 1 : most;
}

AttentionCall::AttentionCall(const NaiveCall& call, size_t inputs)
    : sizes(call),
      query(matrices(call.inputs[0])),
      key(matrices(call.inputs[1])),
      value(matrices(call.inputs[2])),
      mask(call.inputs.size() > inputs ? matrices(call.inputs[inputs]) : Matrices{}),
      causal(call.attributes[0] != 0),
      heads(call.attributes[1]),
      scale(__builtin_bit_cast(double, call.immediates.value[0])) {}

Matrices AttentionCall::beside(const void* data, Dtype dtype, int64_t rows, int64_t columns,
                               int64_t row) const {
  Axis batch;
  batch.append(sizes.batch / heads, rows * row);
  batch.append(heads, heads > 1 ? columns : 0);
  return {data, dtype, batch, row, 1};
}

AttentionBlock block_of(const AttentionCall& call, int64_t entry, int64_t index) {
  const int64_t first = index * block_queries;
  const int64_t count = std::min(block_queries, call.sizes.n - first);
  return {entry, first, count, 0, call.keys_before(first + count)};
}

AttentionBlock block_after(const AttentionCall& call, const AttentionBlock& block, int64_t step) {
  const int64_t blocks = call.sizes.blocks(), index = block.first / block_queries + step;
  if (index >= 0 && index < blocks) return block_of(call, block.entry, index);
  if (block.entry + 1 == call.sizes.batch) return {};
  return block_of(call, block.entry + 1, step > 0 ? 0 : blocks - 1);
}

}  // namespace mt::cpu
