// SPDX-License-Identifier: Apache-2.0
// Attention by the online softmax (Milakov and Gimelshein, 2018, arXiv 1805.02867), queries in the
// outer loop as in FlashAttention-2 (Dao, 2023, arXiv 2307.08691).
#include "backends/cpu/attention/attention.h"

#include "backends/cpu/parallel/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/attention/attention.cpp"
#include "backends/cpu/elementwise/targets.h"

#include "hwy/foreach_target.h"

#include "backends/cpu/attention/block-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mt::cpu::HWY_NAMESPACE {

template <class T>
class BlockOutput {
 public:
  BlockOutput(const AttentionCall& call, const AttentionBlock& block, T* result, T* scratch)
      : call_(call),
        block_(block),
        scores_(call, block, scratch),
        width_(scores_.width()),
        pitch_(scores_.pitch()),
        weights_(scratch + scores_scratch(call.sizes)),
        values_(weights_ + attention_panel * most_pitch),
        result_(result) {}

  void run() {
    const auto& [batch, n, m, d, e] = call_.sizes;
    const Matrices& v = call_.value;
    const T* const values = v.at<T>(block_.entry);
    const int64_t first = block_.entry * n + block_.first, rows = batch * n;
    const Matrices result = call_.result_at(result_, dtype_of<T>);
    T* const sums = result_ + result.batch.offset(block_.entry) + block_.first * result.row;
    std::fill_n(largest_, width_, -std::numeric_limits<T>::infinity());
    std::fill_n(total_, width_, T(0));
    RowsAhead ahead(call_);
    const AttentionBlock next = block_after(call_, block_, -1);
    if (next.count) ahead.add(call_.query, next, d);
    ahead.add_keys_after(call_, block_);
    for (int64_t key = 0; key < block_.key_end; key += attention_panel) {
      const Seen seen = scores_.seen(key, std::min(attention_panel, block_.key_end - key));
      scores_.take(key, seen, weights_, ahead);
      bool smaller = false;
      for_queries<T>(width_, [&]<int vectors>(int64_t lane) HWY_ATTR {
        smaller |= compare<vectors>(lane, seen);
        weigh<vectors>(lane, seen);
      });
      scores_.clear_before(seen, weights_);
      if (smaller && key > 0) multiply_rows(factor_, sums, result.row);
      const Right<T> right = right_operand(v, values + key * v.row, seen.keys, e, values_, false);
      add_to_queries(weights_, pitch_, right, seen, sums, result.row, key == 0, ahead);
    }
    for (int64_t i = 0; i < block_.count; ++i) {
      if (total_[i] == T(0)) total_[i] = T(1);  // it sees nothing
      factor_[i] = T(1) / total_[i];
    }
    multiply_rows(factor_, sums, result.row);
    std::copy_n(shift_, block_.count, result_ + rows * e + first);
    std::copy_n(total_, block_.count, result_ + rows * (e + 1) + first);
  }

 private:
  static constexpr int64_t lanes = lanes_of<T>;

  // Finds the largest scores of some vectors of queries; returns whether the sums of earlier panels
  // must be scaled down, by factor_.
  template <int vectors>
  bool compare(int64_t lane, const Seen& seen) {
    Vector<T> before[vectors], largest[vectors];
    load_vectors(largest_ + lane, before);
    MT_UNROLL for (int v = 0; v < vectors; ++v) largest[v] = before[v];
    for_keys<T, vectors>(lane, seen, pitch_, [&](int v, int64_t at) HWY_ATTR {
      largest[v] = Vector<T>(ordered_max(load(weights_ + at).raw, largest[v].raw));
    });
    bool smaller = false;
    MT_UNROLL for (int v = 0; v < vectors; ++v, lane += lanes) {
      store(largest[v], largest_ + lane);
      // Nothing is subtracted while all scores are hidden: inf - inf is NaN.
      const Vector<T> shift = select(largest[v] == Vector<T>(-infinity), Vector<T>(0), largest[v]);
      const Vector<T> factor = weight_of(before[v] - shift);
      store(shift, shift_ + lane);
      store(factor, factor_ + lane);
      smaller |= any(factor != Vector<T>(1));
    }
    return smaller;
  }

  // Turns scores into weights, and adds them up.
  template <int vectors>
  void weigh(int64_t lane, const Seen& seen) {
    Vector<T> shift[vectors], total[vectors];
    load_vectors(shift_ + lane, shift);
    load_vectors(total_ + lane, total);
    MT_UNROLL for (int v = 0; v < vectors; ++v) {
      total[v] = total[v] * load(factor_ + lane + v * lanes);
    }
    for_keys<T, vectors>(lane, seen, pitch_, [&](int v, int64_t at) HWY_ATTR {
      const Vector<T> weight = weight_of(load(weights_ + at) - shift[v]);
      total[v] = total[v] + weight;
      store(weight, weights_ + at);
    });
    MT_UNROLL for (int v = 0; v < vectors; ++v) store(total[v], total_ + lane + v * lanes);
  }

  // x[query][e] *= factors[query]
  void multiply_rows(const T* factors, T* x, int64_t row) const {
    const int64_t e = call_.sizes.e;
    for (int64_t i = 0; i < block_.count; ++i, x += row) {
      const Vector<T> factor(factors[i]);
      int64_t c = 0;
      for (; c + lanes <= e; c += lanes) store(load(x + c) * factor, x + c);
      for (; c < e; ++c) x[c] *= factors[i];
    }
  }

  const AttentionCall& call_;
  const AttentionBlock& block_;
  const BlockScores<T> scores_;
  const int64_t width_, pitch_;
  T *const weights_, *const values_;  // [keys][pitch]; panels of values, where they are packed
  T* const result_;
  T largest_[block_queries], shift_[block_queries], total_[block_queries], factor_[block_queries];
};

template <class T>
void run_output(const AttentionCall& call, const AttentionBlock& block, void* result,
                void* scratch) {
  BlockOutput<T>(call, block, static_cast<T*>(result), static_cast<T*>(scratch)).run();
}
void run_output_float(const AttentionCall& call, const AttentionBlock& block, void* result,
                      void* scratch) {
  run_output<float>(call, block, result, scratch);
}
void run_output_double(const AttentionCall& call, const AttentionBlock& block, void* result,
                       void* scratch) {
  run_output<double>(call, block, result, scratch);
}

}  // namespace mt::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mt::cpu {
namespace {

HWY_EXPORT(run_output_float);
HWY_EXPORT(run_output_double);

int64_t worker_scratch(const AttentionSizes& sizes, Dtype dtype) {
  int64_t numbers = scores_scratch(sizes) + attention_panel * most_pitch +
                    panels_scratch(attention_panel, sizes.e);
  return numbers * static_cast<int64_t>(size_of(dtype));
}

}  // namespace

int64_t attention_scratch(const CallGroup& group, int threads) {
  return threads * worker_scratch(AttentionSizes(group), group.output.dtype);
}

void attention_kernel(const NaiveCall& naive, void* scratch, int threads) {
  const AttentionCall call(naive, 3);
  const int64_t blocks = call.sizes.blocks();
  const int64_t own = worker_scratch(call.sizes, naive.output.dtype);
  const bool wide = naive.output.dtype == Dtype::float64;
  parallel_items(
      call.sizes.batch * blocks, call.sizes.threads(threads), [&](int64_t item, int worker) {
        // If queries see only the keys before them, the last queries see the most.
        const AttentionBlock block = block_of(call, item / blocks, blocks - 1 - item % blocks);
        void *const result = naive.output.data, *const memory =
                                                    static_cast<char*>(scratch) + worker * own;
        wide ? HWY_DYNAMIC_DISPATCH(run_output_double)(call, block, result, memory)
             : HWY_DYNAMIC_DISPATCH(run_output_float)(call, block, result, memory);
      });
}

}  // namespace mt::cpu
#endif
