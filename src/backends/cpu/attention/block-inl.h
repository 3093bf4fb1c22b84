// SPDX-License-Identifier: Apache-2.0
// A block's queries packed, [d][queries], and the scores of a panel of keys against them,
// [keys][queries]. Included once for each instruction set.
#if defined(MT_ATTENTION_BLOCK_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MT_ATTENTION_BLOCK_INL_H
#undef MT_ATTENTION_BLOCK_INL_H
#else
#define MT_ATTENTION_BLOCK_INL_H
#endif

#include <algorithm>
#include <cstring>
#include <limits>

#include "backends/cpu/attention/block.h"
#include "backends/cpu/contract/micro_kernel-inl.h"
#include "backends/cpu/contract/pack-inl.h"
#include "backends/cpu/elementwise/vector.h"

HWY_BEFORE_NAMESPACE();
namespace mt::cpu::HWY_NAMESPACE {

template <class T>
HWY_INLINE Vector<T> load(const T* from) {
  return Vector<T>(hn::LoadU(Tag<T>(), from));
}
template <class T>
HWY_INLINE void store(Vector<T> x, T* to) {
  hn::StoreU(x.raw, Tag<T>(), to);
}

// A left operand, which is read by broadcast.
template <class T>
struct Left {
  const T* data;
  int64_t row, k;  // strides
};

// c[rows, columns] = a[rows, k] b[k, columns], added to what c holds unless it is `fresh`. b has
// whole vectors.
template <class T>
void multiply(Left<T> a, const T* b, int64_t b_k, int64_t k, T* c, int64_t c_row, int64_t rows,
              int64_t columns, bool fresh) {
  constexpr int64_t lanes = lanes_of<T>, widest = most_vectors * lanes;
  MicroTile<T> tile{};
  tile.k = k;
  tile.a_row = a.row;
  tile.a_k = a.k;
  tile.b_k = b_k;
  tile.c_row = tile.from_row = c_row;
  tile.first = fresh;
  for (int64_t column = 0; column < columns; column += widest) {
    tile.columns = std::min(widest, columns - column);
    tile.b = b + column;
    const int vectors = static_cast<int>((tile.columns + lanes - 1) / lanes);
    const int64_t most = rows_for(vectors), slivers = (rows + most - 1) / most;
    for (int64_t sliver = 0; sliver < slivers; ++sliver) {
      const int64_t row = rows * sliver / slivers, end = rows * (sliver + 1) / slivers;
      const bool more = sliver + 1 < slivers;
      tile.a = a.data + row * a.row;
      tile.a_ahead = more ? (end - row) * a.row : 0;
      tile.c = c + row * c_row + column;
      tile.from = tile.c;
      tile.c_next = more ? tile.c + (end - row) * c_row : tile.c;
      micro_kernel_for<T>(static_cast<int>(end - row), vectors, false)(tile);
    }
  }
}

// out[j][i] = from[i * row + j * column], for i in [0, rows), at most 64, and j in [0, columns). A
// row of `out` has `width`, of which whole vectors are written.
template <class T>
void pack_transposed(const T* from, int64_t row, int64_t column, int64_t rows, int64_t columns,
                     int64_t width, T* out) {
  int64_t row_offsets[most_width], column_offsets[most_width];
  for (int64_t i = 0; i < rows; ++i) row_offsets[i] = i * row;
  for (int64_t begin = 0; begin < columns; begin += most_width) {
    const int64_t count = std::min(most_width, columns - begin);
    for (int64_t j = 0; j < count; ++j) column_offsets[j] = (begin + j) * column;
    pack(dtype_of<T>, from, row_offsets, rows, width, column_offsets, count, out + begin * width);
  }
}

// to[i][j] = x[j][i]: sums with queries in lanes become rows. `spare` holds 64 x 64.
template <class T>
void store_rows(const T* x, int64_t width, int64_t queries, int64_t columns, T* to, T* spare) {
  for (int64_t begin = 0; begin < columns; begin += most_width) {
    const int64_t count = std::min(most_width, columns - begin);
    pack_transposed(x + begin * width, width, int64_t{1}, count, queries, count, spare);
    for (int64_t i = 0; i < queries; ++i) {
      std::copy_n(spare + i * count, count, to + i * columns + begin);
    }
  }
}

template <class T>
void multiply_by(T factor, T* x, int64_t count) {
  for (int64_t i = 0; i < count; i += lanes_of<T>) store(load(x + i) * Vector<T>(factor), x + i);
}

// x[row][query] *= factors[query]
template <class T>
void multiply_columns(const T* factors, T* x, int64_t rows, int64_t width) {
  for (int64_t i = 0; i < rows; ++i, x += width) {
    for (int64_t lane = 0; lane < width; lane += lanes_of<T>) {
      store(load(x + lane) * load(factors + lane), x + lane);
    }
  }
}

template <class T>
class BlockScores {
 public:
  // Packs the queries, times the scale.
  BlockScores(const AttentionCall& call, const AttentionBlock& block, T* scratch)
      : call_(call),
        block_(block),
        width_((block.count + lanes_of<T> - 1) / lanes_of<T> * lanes_of<T>),
        query_(scratch),
        mask_(scratch + call.sizes.d * block_queries),
        key_(call.key.at<T>(block.entry)) {
    const Matrices& q = call.query;
    pack_transposed(q.at<T>(block.entry) + block.first * q.row, q.row, q.column, block.count,
                    call.sizes.d, width_, query_);
    multiply_by(static_cast<T>(call.scale), query_, call.sizes.d * width_);
  }

  // The number of queries, as whole vectors have them.
  int64_t width() const { return width_; }

  // out[count][width]: the scores of the keys from `key` on.
  void take(int64_t key, int64_t count, T* out) const {
    const Matrices& k = call_.key;
    multiply<T>({key_ + key * k.row, k.row, k.column}, query_, width_, call_.sizes.d, out, width_,
                count, width_, true);
    if (call_.mask.data) apply_mask(key, count, out);
    if (!call_.causal) return;
    for (int64_t j = std::max<int64_t>(0, block_.first + 1 - key); j < count; ++j) {
      const int64_t unseen = std::min(key + j - block_.first, width_);
      std::fill_n(out + j * width_, unseen, -std::numeric_limits<T>::infinity());
    }
  }

 private:
  void apply_mask(int64_t key, int64_t count, T* out) const {
    const Matrices& mask = call_.mask;
    const int64_t begin = mask.batch.offset(block_.entry) + block_.first * mask.row;
    int64_t rows[most_width], columns[most_width];
    for (int64_t i = 0; i < block_.count; ++i) rows[i] = begin + i * mask.row;
    for (int64_t done = 0; done < count; done += most_width) {
      const int64_t some = std::min(most_width, count - done);
      for (int64_t j = 0; j < some; ++j) columns[j] = (key + done + j) * mask.column;
      pack(mask.dtype, mask.data, rows, block_.count, width_, columns, some, mask_ + done * width_);
    }
    const bool chooses = mask.dtype == Dtype::boolean;
    for (int64_t i = 0; i < count * width_; i += lanes_of<T>) {
      const Vector<T> x = load(out + i), y = load(mask_ + i);
      store(chooses ? select(y == Vector<T>(0), Vector<T>(-infinity), x) : x + y, out + i);
    }
  }

  const AttentionCall& call_;
  const AttentionBlock& block_;
  const int64_t width_;
  T *const query_, *const mask_;
  const T* const key_;
};

}  // namespace mt::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
