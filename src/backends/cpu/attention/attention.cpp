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
        sums_(weights_ + attention_panel * block_queries),
        result_(result) {}

  void run() {
    const Matrices& v = call_.value;
    const T* const value = v.at<T>(block_.entry);
    std::fill_n(largest_, width_, -std::numeric_limits<T>::infinity());
    std::fill_n(total_, width_, T(0));
    for (int64_t key = 0; key < block_.key_end; key += attention_panel) {
      const int64_t count = std::min(attention_panel, block_.key_end - key);
      scores_.take(key, count, weights_);
      bool smaller = false;
      for (int64_t lane = 0; lane < width_;) {
        const bool wide = width_ - lane >= 4 * lanes;
        smaller |= wide ? weigh<4>(lane, count) : weigh<1>(lane, count);
        lane += wide ? 4 * lanes : lanes;
      }
      if (smaller && key > 0) multiply_columns(factor_, sums_, call_.sizes.e, width_);
      multiply<T>({value + key * v.row, v.column, v.row}, weights_, width_, count, sums_, width_,
                  call_.sizes.e, width_, key == 0);
    }
    finish();
  }

 private:
  static constexpr int64_t lanes = lanes_of<T>;

  // Makes weights of the scores of V vectors of queries and adds them up; returns whether the sums
  // of the panels before are to be made smaller, by factor_.
  template <int V>
  bool weigh(int64_t lane, int64_t count) {
    T* const weights = weights_ + lane;
    Vector<T> shift[V], total[V];
    MT_UNROLL for (int v = 0; v < V; ++v) shift[v] = load(largest_ + lane + v * lanes);
    for (int64_t j = 0; j < count; ++j) {
      MT_UNROLL for (int v = 0; v < V; ++v) {
        const Vector<T> score = load(weights + j * width_ + v * lanes);
        shift[v] = Vector<T>(ordered_max(score.raw, shift[v].raw));
      }
    }
    bool smaller = false;
    MT_UNROLL for (int v = 0; v < V; ++v) {
      const int64_t at = lane + v * lanes;
      const Vector<T> before = load(largest_ + at);
      store(shift[v], largest_ + at);
      // Nothing is taken off where all is hidden as yet: inf - inf is NaN.
      shift[v] = select(shift[v] == Vector<T>(-infinity), Vector<T>(0), shift[v]);
      const Vector<T> factor = exp(before - shift[v]);
      smaller |= any(factor != Vector<T>(1));
      total[v] = load(total_ + at) * factor;
      store(shift[v], shift_ + at);
      store(factor, factor_ + at);
    }
    for (int64_t j = 0; j < count; ++j) {
      MT_UNROLL for (int v = 0; v < V; ++v) {
        T* const at = weights + j * width_ + v * lanes;
        const Vector<T> weight = exp(load(at) - shift[v]);
        total[v] = total[v] + weight;
        store(weight, at);
      }
    }
    MT_UNROLL for (int v = 0; v < V; ++v) store(total[v], total_ + lane + v * lanes);
    return smaller;
  }

  // Divides by the totals, and writes the rows and what the gradient needs of them.
  void finish() {
    for (int64_t lane = 0; lane < width_; lane += lanes) {
      store(Vector<T>(1) / load(total_ + lane), factor_ + lane);
    }
    const int64_t e = call_.sizes.e, rows = call_.sizes.batch * call_.sizes.n;
    const int64_t row = block_.entry * call_.sizes.n + block_.first;
    multiply_columns(factor_, sums_, e, width_);
    store_rows(sums_, width_, block_.count, e, result_ + row * e, weights_);
    std::copy_n(shift_, block_.count, result_ + rows * e + row);
    std::copy_n(total_, block_.count, result_ + rows * (e + 1) + row);
  }

  const AttentionCall& call_;
  const AttentionBlock& block_;
  const BlockScores<T> scores_;
  const int64_t width_;
  T *const weights_, *const sums_;  // [keys][width], [e][width]
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
  int64_t numbers = scores_scratch(sizes) + (attention_panel + sizes.e) * block_queries;
  return numbers * static_cast<int64_t>(size_of(dtype));
}

}  // namespace

int64_t attention_scratch(const Group& group, int threads) {
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
