// SPDX-License-Identifier: Apache-2.0
// A block's packed queries, [d][queries], and the scores of a panel of keys against them,
// [keys][queries]. Included once for each instruction set.
#if defined(MT_ATTENTION_BLOCK_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MT_ATTENTION_BLOCK_INL_H
#undef MT_ATTENTION_BLOCK_INL_H
#else
#define MT_ATTENTION_BLOCK_INL_H
#endif

#include <algorithm>
#include <limits>

#include "backends/cpu/attention/products-inl.h"
#include "backends/cpu/elementwise/vector_math.h"

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

template <class T, int vectors>
HWY_INLINE void load_vectors(const T* from, Vector<T> (&x)[vectors]) {
  MT_UNROLL for (int v = 0; v < vectors; ++v) x[v] = load(from + v * lanes_of<T>);
}

template <class T>
void multiply_by(T factor, T* x, int64_t count) {
  for (int64_t i = 0; i < count; i += lanes_of<T>) store(load(x + i) * Vector<T>(factor), x + i);
}

// exp(x) for x that is not positive. Weights too small to be normal numbers are 0.
template <class T>
HWY_INLINE Vector<T> weight_of(Vector<T> x) {
  using V = Vector<T>;
  // With ln(2) in one part, which is exact enough: k times its error is below one unit in the last
  // place for weights of 1e-9 and more, and below five for any.
  const auto e = scaled_exponential<1>(x);
  const auto normal = not_less(x, choose<V>(-87, -708));
  if constexpr (skips_lanes<V>) return scale_where(normal, e.y, e.k, e.biased);
  return only_where(normal, e.y * power_of_two<V>(e.biased - Bits<V>(2 * exponent_bias<V>)));
}

// Calls run<vectors>(query) for several vectors of queries at a time, from `query` on: as many as
// leave registers for the computation.
template <class T, class F>
HWY_INLINE void for_queries(int64_t width, F&& run) {
  constexpr int64_t lanes = lanes_of<T>;
  constexpr int together = most_vectors;
  int64_t query = 0;
  for (; query + together * lanes <= width; query += together * lanes) {
    run.template operator()<together>(query);
  }
  for (; query < width; query += lanes) run.template operator()<1>(query);
}

// Calls run(v, at) for each key that vector v of these queries sees, in ascending order; `at` is
// its place in the scores. A key's vectors are taken together, so that memory is read in order.
template <class T, int vectors, class F>
HWY_INLINE void for_keys(int64_t query, const Seen& seen, int64_t pitch, F&& run) {
  constexpr int64_t lanes = lanes_of<T>;
  const int64_t common = std::max<int64_t>(0, seen.keys_of(query, score_step));
  int64_t at = query;
  for (int64_t key = 0; key < common; ++key, at += pitch) {
    MT_UNROLL for (int v = 0; v < vectors; ++v) run(v, at + v * lanes);
  }
  MT_UNROLL for (int v = 1; v < vectors; ++v) {
    const int64_t end = seen.keys_of(query + v * lanes, score_step);
    int64_t more = at + v * lanes;
    for (int64_t key = common; key < end; ++key, more += pitch) run(v, more);
  }
}

template <class T>
class BlockScores {
 public:
  // Packs the queries, times the scale.
  BlockScores(const AttentionCall& call, const AttentionBlock& block, T* scratch)
      : call_(call),
        block_(block),
        width_((block.count + lanes - 1) / lanes * lanes),
        query_(scratch),
        mask_(scratch + call.sizes.d * block_queries),
        key_(call.key.at<T>(block.entry)) {
    const Matrices& q = call.query;
    pack_transposed(q.at<T>(block.entry) + block.first * q.row, q.row, q.column, block.count,
                    call.sizes.d, width_, query_);
    multiply_by(static_cast<T>(call.scale), query_, call.sizes.d * width_);
  }

  // Zeroes the step before the ones that were computed.
  void clear_before(const Seen& seen, T* x) const {
    for (int64_t j = std::max<int64_t>(0, score_step - seen.ahead); j < seen.keys; ++j) {
      T* const at = x + j * pitch() + seen.first_query(j, score_step) - score_step;
      for (int64_t i = 0; i < score_step; i += lanes) store(Vector<T>(0), at + i);
    }
  }

  // The number of queries, rounded up to whole vectors.
  int64_t width() const { return width_; }
  // The distance from one key's scores to the next one's.
  int64_t pitch() const { return width_ + pitch_gap<T>; }

  // Which of `count` keys from `key` on the queries see.
  Seen seen(int64_t key, int64_t count) const {
    return {call_.causal ? key - block_.first : -count, block_.count, count};
  }

  // Writes the scores of the keys from `key` on to out[keys][pitch].
  void take(int64_t key, const Seen& seen, T* out, RowsAhead& ahead) const {
    const Matrices& k = call_.key;
    multiply_by_queries({key_ + key * k.row, k.row, k.column}, query_, call_.sizes.d, seen, width_,
                        out, pitch(), ahead);
    if (call_.mask.data) apply_mask(key, seen.keys, out);
    for (int64_t j = std::max<int64_t>(0, 1 - seen.ahead); j < seen.keys; ++j) {
      const int64_t first = seen.first_query(j, score_step);
      hide(j * pitch() + first, j + seen.ahead - first, out);
    }
  }

 private:
  static constexpr int64_t lanes = lanes_of<T>;

  // Hides the first `count` scores of a step, which has whole vectors.
  static void hide(int64_t at, int64_t count, T* x) {
    const Tag<T> d;
    for (int64_t i = 0; i < count; i += lanes) {
      const Mask<T> mask{hn::FirstN(d, count - i)};
      store(select(mask, Vector<T>(-infinity), load(x + at + i)), x + at + i);
    }
  }

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
    const T* from = mask_;
    for (int64_t j = 0; j < count; ++j, out += pitch()) {
      for (int64_t i = 0; i < width_; i += lanes, from += lanes) {
        const Vector<T> x = load(out + i), y = load(from);
        store(chooses ? select(y == Vector<T>(0), Vector<T>(-infinity), x) : x + y, out + i);
      }
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
