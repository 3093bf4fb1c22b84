// SPDX-License-Identifier: Apache-2.0
// Prefetches rows that are read after a block to the second-level cache while the block is
// computed: a few lines at a time, since many at once would hold up other reads.
#pragma once

#include "backends/cpu/attention/block.h"
#include "backends/cpu/cache.h"

namespace mt::cpu {

class RowsAhead {
 public:
  // Prefetches nothing if all operands together stay in that cache anyway.
  explicit RowsAhead(const AttentionCall& call) {
    const auto& [batch, n, m, d, e] = call.sizes;
    const int64_t size = static_cast<int64_t>(size_of(call.key.dtype));
    beyond_cache_ = batch * (n * d + m * (d + e)) * size > second_cache;
  }
  // Adds the rows of a block of queries in an operand of `columns` columns.
  void add(const Matrices& of, const AttentionBlock& block, int64_t columns) {
    add(of, block.entry, block.first, block.first + block.count, columns);
  }
  // Adds a share of the next entry's keys and values, as large as the block's share of its queries.
  void add_keys_after(const AttentionCall& call, const AttentionBlock& block) {
    const auto& [batch, n, m, d, e] = call.sizes;
    constexpr int64_t room = second_cache / 4;
    const int64_t bytes = m * (d + e) * static_cast<int64_t>(size_of(call.key.dtype));
    if (block.entry + 1 == batch || bytes > room) return;
    const int64_t begin = m * block.first / n, end = m * (block.first + block.count) / n;
    add(call.key, block.entry + 1, begin, end, d);
    add(call.value, block.entry + 1, begin, end, e);
  }

  void fetch() {
    constexpr int lines = 12;
    for (int line = 0; line < lines && at_ < count_; ++line) {
      Rows& rows = rows_[at_];
      __builtin_prefetch(rows.first + byte_, 0, 2);
      byte_ += 64;
      if (byte_ < rows.bytes) continue;
      byte_ = 0;
      rows.first += rows.stride;
      if (--rows.count == 0) ++at_;
    }
  }

 private:
  struct Rows {
    const char* first;
    int64_t count, bytes, stride;
  };

  void add(const Matrices& of, int64_t entry, int64_t begin, int64_t end, int64_t columns) {
    if (!beyond_cache_ || begin == end || of.column != 1) return;
    const int64_t size = static_cast<int64_t>(size_of(of.dtype));
    const char* const first =
        static_cast<const char*>(of.data) + (of.batch.offset(entry) + begin * of.row) * size;
    rows_[count_++] = {first, end - begin, columns * size, of.row * size};
  }

  bool beyond_cache_;
  Rows rows_[5];
  int count_ = 0, at_ = 0;
  int64_t byte_ = 0;
};

}  // namespace mt::cpu
