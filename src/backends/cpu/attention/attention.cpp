// SPDX-License-Identifier: Apache-2.0
// Attention by the online softmax (Milakov and Gimelshein, 2018, arXiv 1805.02867), queries in the
// outer loop as in FlashAttention-2 (Dao, 2023, arXiv 2307.08691).
#include "backends/cpu/attention/attention.h"

#include "backends/cpu/elementwise/tables.h"
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
        weights_(scratch + scores_scratch(call.sizes)),
        values_(weights_ + attention_panel * block_queries),
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
      for (int64_t lane = 0; lane < width_; lane += lanes) smaller |= compare(lane, seen);
      for (int64_t lane = 0; lane < width_; lane += lanes) weigh(lane, seen);
      scores_.clear_before(seen, weights_);
      if (smaller && key > 0) multiply_rows(factor_, sums, result.row);
      const Right<T> right = right_operand(v, values + key * v.row, seen.keys, e, values_, false);
      add_to_queries(weights_, width_, right, seen, sums, result.row, key == 0, ahead);
    }
    for (int64_t i = 0; i < block_.count; ++i) factor_[i] = T(1) / total_[i];
    multiply_rows(factor_, sums, result.row);
    std::copy_n(shift_, block_.count, result_ + rows * e + first);
    std::copy_n(total_, block_.count, result_ + rows * (e + 1) + first);
  }

 private:
  static constexpr int64_t lanes = lanes_of<T>;

  // Finds the largest scores of a vector of queries; returns whether the sums of the panels before
  // are to be made smaller, by factor_.
  bool compare(int64_t lane, const Seen& seen) {
    const int64_t count = seen.keys_of(lane, score_step);
    const T* const scores = weights_ + lane;
    const Vector<T> before = load(largest_ + lane);
    // Several, as one would wait for itself.
    constexpr int together = 4;
    Vector<T> largest[together];
    MT_UNROLL for (int v = 0; v < together; ++v) largest[v] = before;
    int64_t j = 0;
    for (; j + together <= count; j += together) {
      MT_UNROLL for (int v = 0; v < together; ++v) {
        largest[v] = larger(load(scores + (j + v) * width_), largest[v]);
      }
    }
    for (; j < count; ++j) largest[0] = larger(load(scores + j * width_), largest[0]);
    MT_UNROLL for (int v = 1; v < together; ++v) largest[0] = larger(largest[v], largest[0]);
    store(largest[0], largest_ + lane);
    // Nothing is taken off where all is hidden as yet: inf - inf is NaN.
    const Vector<T> shift = select(largest[0] == Vector<T>(-infinity), Vector<T>(0), largest[0]);
    const Vector<T> factor = weight_of(before - shift);
    store(shift, shift_ + lane);
    store(factor, factor_ + lane);
    return any(factor != Vector<T>(1));
  }
  static Vector<T> larger(Vector<T> x, Vector<T> y) { return Vector<T>(ordered_max(x.raw, y.raw)); }

  // Makes weights of the scores, and adds them up.
  void weigh(int64_t lane, const Seen& seen) {
    const Vector<T> shift = load(shift_ + lane);
    Vector<T> total = load(total_ + lane) * load(factor_ + lane);
    const int64_t end = seen.keys_of(lane, score_step) * width_;
    HWY_UNROLL(4) for (int64_t at = lane; at < end; at += width_) {
      const Vector<T> weight = weight_of(load(weights_ + at) - shift);
      total = total + weight;
      store(weight, weights_ + at);
    }
    store(total, total_ + lane);
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
  const int64_t width_;
  T *const weights_, *const values_;  // [keys][width]; panels of values, where they are packed
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
  int64_t numbers = scores_scratch(sizes) + attention_panel * block_queries +
                    panels_scratch(attention_panel, sizes.e);
  return numbers * static_cast<int64_t>(size_of(dtype));
}

}  // namespace

int64_t attention_scratch(const CallGroup& group, int threads) {
  AttentionSizes sizes(group.inputs[0].layout.shape, group.inputs[1].layout.shape,
                       group.inputs[2].layout.shape);
  return threads * worker_scratch(sizes, group.output.dtype);
}

void attention_kernel(const NaiveCall& naive, void* scratch, int threads) {
  choose_instruction_set();
  const AttentionCall call(naive, 3);
  const int64_t blocks = call.sizes.blocks();
  const int64_t own = worker_scratch(call.sizes, naive.output.dtype);
  const bool wide = naive.output.dtype == Dtype::float64;
  parallel_items(
      call.sizes.batch * blocks, call.sizes.threads(threads), [&](int64_t item, int worker) {
        // The last queries see the most keys where they see only those before them.
        const AttentionBlock block = block_of(call, item / blocks, blocks - 1 - item % blocks);
        void *const result = naive.output.data, *const memory =
                                                    static_cast<char*>(scratch) + worker * own;
        wide ? HWY_DYNAMIC_DISPATCH(run_output_double)(call, block, result, memory)
             : HWY_DYNAMIC_DISPATCH(run_output_float)(call, block, result, memory);
      });
}

}  // namespace mt::cpu
#endif
