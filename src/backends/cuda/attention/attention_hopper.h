// SPDX-License-Identifier: Apache-2.0
// Attention on Hopper: how operands lie in shared memory, and which block has which queries.
#pragma once

#include "backends/cuda/attention/attention_half.h"
#include "backends/cuda/device/warpgroup_unit.h"
#include "backends/cuda/driver/bulk_operand.h"

namespace mt::cuda {

struct HopperAttention {
  BulkOperand query, key, value;
  int batch, n, m, columns;  // columns of the result
  int together;              // batch entries that are worked on at once
  bool causal;
};

// The mask of one batch entry.
struct EntryMask {
  const char* data;
  int64_t row_stride, column_stride;
  bool chooses;

  __device__ EntryMask(const ArrayView& mask, int entry) {
    const LayoutView& layout = mask.layout;
    const int last = layout.rank - 1;
    chooses = mask.dtype == Dtype::boolean;
    row_stride = layout.strides[last - 1];
    column_stride = layout.strides[last];
    int64_t at = 0;
    auto left = static_cast<uint32_t>(entry);
    for (int d = last - 2; d >= 0; --d) {
      auto size = static_cast<uint32_t>(layout.shape[d]);
      at += left % size * layout.strides[d];
      left /= size;
    }
    data = mask.data + at * (chooses ? 1 : static_cast<int64_t>(sizeof(float)));
  }
  __device__ float operator()(float score, int query, int key) const {
    const int64_t at = query * row_stride + key * column_stride;
    if (!chooses) return score + load(reinterpret_cast<const float*>(data), at);
    return load(reinterpret_cast<const uint8_t*>(data), at) ? score : -INFINITY;
  }
};

// Rows of one operand in shared memory, `width` long: a box of the first 64 numbers, and of those
// after them.
template <int width, int count>
struct BulkRows {
  static constexpr size_t box = count * 2 * box_line, bytes = width / box_line * box;

  static __device__ void copy(size_t to, const BulkOperand& from, int entry, int first,
                              size_t barrier) {
    const EntryPlace& place = from.place;
    const int z = entry / place.divisor[0] % place.size[0];
    const int outer = entry / place.divisor[1] % place.size[1];
    for (int x = 0; x < width; x += box_line) {
      copy_box(to + static_cast<size_t>(x / box_line) * box, from.map, x, first, z, outer, barrier);
    }
  }
  // 16 numbers of each row, from one on that counts the numbers of a row; and 16 rows.
  static __device__ uint64_t along_row(size_t at, int number) {
    return operand<true>(at + static_cast<size_t>(number / box_line) * box, number % box_line);
  }
  static __device__ uint64_t across_rows(size_t at, int row) {
    return operand<false, box>(at, row);
  }
};

// Writes a lane's part of a row, number `half` of its two, of a matrix of so many columns, an even
// number: sums times a factor.
template <int width>
__device__ void store_row(const float (&sums)[width / 2], int half, float* to, int64_t row,
                          int64_t columns, float factor) {
  MT_UNROLL for (int j = 0; j < width / 8; ++j) {
    const int column = fragment_column(j, 0);
    if (column >= columns) continue;
    const float* pair = &sums[4 * j + 2 * half];
    store(reinterpret_cast<FloatPair*>(to), (row * columns + column) / 2,
          FloatPair{pair[0] * factor, pair[1] * factor});
  }
}

// What a block does and with what: one warpgroup copies, the others have 64 queries each.
template <Factor factor_, int width_, bool masked_>
struct AttentionPlan {
  static constexpr Factor factor = factor_;
  static constexpr int width = width_;
  static constexpr bool masked = masked_;
  static constexpr int groups = width == 64 && !masked ? 3 : 2;
  static constexpr int threads = (1 + groups) * group_threads;
  static constexpr int queries = groups * group_rows, keys = 128;
  // Of queries, and of keys and values, in rings.
  static constexpr int query_stages = 2, stages = width == 64 ? 4 : 2;
  // As many as a processor has for these threads.
  static constexpr int copying_registers = groups == 3 ? 32 : 24;
  static constexpr int own_registers = groups == 3 ? 160 : 240;
  static_assert(copying_registers % 8 == 0 && own_registers % 8 == 0);
  static_assert(copying_registers + groups * own_registers <= most_hopper_registers);

  using Queries = BulkRows<width, queries>;
  using Keys = BulkRows<width, keys>;
  static constexpr size_t at_keys = query_stages * Queries::bytes,
                          at_values = at_keys + stages * Keys::bytes,
                          at_barriers = at_values + stages * Keys::bytes,
                          bytes = at_barriers + 8 * (2 * query_stages + 4 * stages + groups);
  static_assert(bytes <= most_hopper_bytes);

  static __device__ size_t query(int stage) { return place(stage, Queries::bytes); }
  static __device__ size_t key(int stage) { return at_keys + place(stage, Keys::bytes); }
  static __device__ size_t value(int stage) { return at_values + place(stage, Keys::bytes); }
  static __device__ size_t full_query(int stage) { return at_barriers + place(stage, 16); }
  static __device__ size_t empty_query(int stage) { return full_query(stage) + 8; }
  static __device__ size_t full_key(int stage) { return full_query(query_stages + stage); }
  static __device__ size_t empty_key(int stage) { return full_key(stage) + 8; }
  static __device__ size_t full_value(int stage) { return full_key(stages + stage); }
  static __device__ size_t empty_value(int stage) { return full_value(stage) + 8; }
  // Whether it is that warpgroup's turn to begin products.
  static __device__ size_t turn(int group) { return full_value(stages) + place(group, 8); }

 private:
  static __device__ size_t place(int i, size_t size) { return static_cast<size_t>(i) * size; }
};

// The tiles of this block, one after the other. Those that have the most to do, the last where
// queries see the keys before them alone, come first; every second time around blocks take them in
// the opposite order, so that each has its share. As many batch entries at once as the second-level
// cache holds the keys and values of.
template <class Plan>
class QueryTiles {
 public:
  int entry = 0, first = 0, end = 0;  // of a tile: its first query, the end of the keys it sees

  __device__ explicit QueryTiles(const HopperAttention& of) : of_(of) {}
  __device__ bool next() {
    const int blocks = (of_.n + Plan::queries - 1) / Plan::queries;
    const int grid = static_cast<int>(gridDim.x), own = static_cast<int>(blockIdx.x);
    const int id = round_ * grid + (round_ % 2 ? grid - 1 - own : own);
    if (id >= of_.batch * blocks) return false;  // nor has a later round one
    ++round_;
    const int section = id / (of_.together * blocks) * of_.together, rest = id - section * blocks;
    const int left = of_.batch - section, entries = left < of_.together ? left : of_.together;
    entry = section + rest % entries;
    first = (blocks - 1 - rest / entries) * Plan::queries;
    const bool sees_all = !of_.causal || of_.m - first <= Plan::queries;
    end = sees_all ? of_.m : first + Plan::queries;
    return true;
  }

 private:
  const HopperAttention& of_;
  int round_ = 0;
};

}  // namespace mt::cuda
