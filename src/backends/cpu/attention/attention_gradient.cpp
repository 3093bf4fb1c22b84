// SPDX-License-Identifier: Apache-2.0
// The gradient of attention, which recomputes its weights, as FlashAttention-2 does (Dao, 2023,
// arXiv 2307.08691). Every sum is one chain, over keys for a query and over queries for a key, in
// ascending order, whichever thread computes it. So either one pass over all pairs of blocks finds
// all three gradients of a batch entry, or, if there are too few entries to occupy the threads, one
// pass finds the queries' gradient and another, divided over keys, those of keys and values.
#include "backends/cpu/attention/attention.h"

#include "backends/cpu/parallel/parallel.h"

#ifndef MT_ATTENTION_GRADIENT_CALL
#define MT_ATTENTION_GRADIENT_CALL
#include "backends/cpu/attention/block.h"

namespace mt::cpu {

struct GradientCall : AttentionCall {
  Matrices arrived;  // the gradient at the result, [batch, n, e]
  Matrices result;   // of attention; after it come each row's shift and then its total
  Matrices query_gradient, key_gradient, value_gradient;  // to be written
  explicit GradientCall(const NaiveCall& call)
      : AttentionCall(call, 5), arrived(matrices(call.inputs[3])) {
    const NaiveArray &all = call.inputs[4], &to = call.output;
    const int64_t size = static_cast<int64_t>(size_of(all.dtype));
    result = result_at(static_cast<const char*>(all.data) + all.layout.offset * size, all.dtype);
    const bool joined = call.attributes[2] != 0;
    char* next = static_cast<char*>(to.data);
    auto gradient = [&](int64_t rows, int64_t columns) {
      const int64_t row = heads * columns;
      const Matrices at = beside(next, to.dtype, rows, columns, joined ? 3 * row : row);
      next += (joined ? row : sizes.batch * rows * columns) * size;
      return at;
    };
    query_gradient = gradient(sizes.n, sizes.d);
    key_gradient = gradient(sizes.m, sizes.d);
    value_gradient = gradient(sizes.m, sizes.e);
  }
};
template <class T>
T* to_be_written(const Matrices& of, int64_t entry, int64_t row) {
  return const_cast<T*>(of.at<T>(entry)) + row * of.row;
}

struct Wanted {
  bool queries, keys;
  int64_t fresh;  // the keys from here on have no sums yet
  bool last;      // they are the entry's last keys: the next entry's come after these
};

}  // namespace mt::cpu
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/attention/attention_gradient.cpp"
#include "backends/cpu/elementwise/targets.h"

#include "hwy/foreach_target.h"

#include "backends/cpu/attention/block-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mt::cpu::HWY_NAMESPACE {

template <class T>
class BlockGradient {
 public:
  BlockGradient(const GradientCall& call, const AttentionBlock& block, Wanted wanted, T* scratch)
      : call_(call),
        block_(block),
        wanted_(wanted),
        scores_(call, block, scratch),
        width_(scores_.width()),
        pitch_(scores_.pitch()),
        weights_(scratch + scores_scratch(call.sizes)),
        slopes_(weights_ + attention_panel * most_pitch),
        arrived_(slopes_ + attention_panel * most_pitch),
        key_rows_(arrived_ + call.sizes.e * block_queries),
        query_rows_(key_rows_ + panels_scratch(attention_panel, call.sizes.d)),
        arrived_rows_(query_rows_ + panels_scratch(block_queries, call.sizes.d)) {}

  void run() {
    const auto& [batch, n, m, d, e] = call_.sizes;
    const Matrices &q = call_.query, &k = call_.key, &v = call_.value, &dy = call_.arrived;
    const T* const keys = k.at<T>(block_.entry);
    const T* const values = v.at<T>(block_.entry);
    const Matrices &dq = call_.query_gradient, &dk = call_.key_gradient;
    const Matrices& dv = call_.value_gradient;
    prepare();
    Right<T> queries{}, arrived{};
    if (wanted_.keys) {
      queries = rows_of(q, d, query_rows_);
      arrived = rows_of(dy, e, arrived_rows_);
    }
    RowsAhead ahead = rows_ahead();
    for (int64_t key = block_.key_begin; key < block_.key_end; key += attention_panel) {
      const Seen seen = scores_.seen(key, std::min(attention_panel, block_.key_end - key));
      scores_.take(key, seen, weights_, ahead);
      multiply_by_queries({values + key * v.row, v.row, v.column}, arrived_, e, seen, width_,
                          slopes_, pitch_, ahead);
      for_queries<T>(width_,
                     [&]<int vectors>(int64_t lane) HWY_ATTR { weigh<vectors>(lane, seen); });
      scores_.clear_before(seen, weights_);
      scores_.clear_before(seen, slopes_);
      if (wanted_.queries) {
        const Right<T> right = right_operand(k, keys + key * k.row, seen.keys, d, key_rows_, false);
        add_to_queries(slopes_, pitch_, right, seen,
                       to_be_written<T>(dq, block_.entry, block_.first), dq.row,
                       key == block_.key_begin, ahead);
      }
      if (wanted_.keys) {
        add_to_keys(slopes_, pitch_, queries, seen, to_be_written<T>(dk, block_.entry, key), dk.row,
                    wanted_.fresh - key, ahead);
        add_to_keys(weights_, pitch_, arrived, seen, to_be_written<T>(dv, block_.entry, key),
                    dv.row, wanted_.fresh - key, ahead);
      }
    }
  }

 private:
  static constexpr int64_t lanes = lanes_of<T>;

  // The block's rows of `of`.
  Right<T> rows_of(const Matrices& of, int64_t columns, T* scratch) const {
    return right_operand(of, of.at<T>(block_.entry) + block_.first * of.row, block_.count, columns,
                         scratch, true);
  }

  RowsAhead rows_ahead() const {
    RowsAhead ahead(call_);
    const AttentionBlock next = block_after(call_, block_, wanted_.keys ? 1 : -1);
    if (next.count && (next.entry == block_.entry || wanted_.last)) {
      ahead.add(call_.query, next, call_.sizes.d);
      ahead.add(call_.arrived, next, call_.sizes.e);
      ahead.add(call_.result, next, call_.sizes.e);
    }
    if (wanted_.last) ahead.add_keys_after(call_, block_);
    return ahead;
  }

  // Packs the gradient that arrived, times the scale, and sums its products with the result: what
  // softmax subtracts from the slope of each score.
  void prepare() {
    const Matrices& dy = call_.arrived;
    const auto& [batch, n, m, d, e] = call_.sizes;
    const int64_t row = block_.entry * n + block_.first, rows = batch * n;
    const Matrices& result = call_.result;
    const T* const found = result.at<T>(block_.entry) + block_.first * result.row;
    const T* const behind = result.at<T>(0) + rows * e;
    std::fill_n(shift_, width_, T(0));
    std::fill_n(share_, width_, T(0));
    std::fill_n(mean_, width_, T(0));
    std::copy_n(behind + row, block_.count, shift_);
    for (int64_t i = 0; i < block_.count; ++i) share_[i] = T(1) / behind[rows + row + i];

    pack_transposed(dy.at<T>(block_.entry) + block_.first * dy.row, dy.row, dy.column, block_.count,
                    e, width_, arrived_);
    multiply_by(static_cast<T>(call_.scale), arrived_, e * width_);
    for (int64_t begin = 0; begin < e; begin += most_width) {
      const int64_t count = std::min(most_width, e - begin);
      pack_transposed(found + begin, result.row, int64_t{1}, block_.count, count, width_, slopes_);
      for (int64_t at = 0; at < count * width_; at += lanes) {
        T* const mean = mean_ + at % width_;
        store(fma(load(arrived_ + begin * width_ + at), load(slopes_ + at), load(mean)), mean);
      }
    }
  }

  // Turns scores into weights, and slopes of weights into slopes of scores, times the scale.
  template <int vectors>
  void weigh(int64_t lane, const Seen& seen) {
    Vector<T> shift[vectors], share[vectors], mean[vectors];
    load_vectors(shift_ + lane, shift);
    load_vectors(share_ + lane, share);
    load_vectors(mean_ + lane, mean);
    for_keys<T, vectors>(lane, seen, pitch_, [&](int v, int64_t at) HWY_ATTR {
      const Vector<T> weight = weight_of(load(weights_ + at) - shift[v]) * share[v];
      store(weight, weights_ + at);
      store(weight * (load(slopes_ + at) - mean[v]), slopes_ + at);
    });
  }

  const GradientCall& call_;
  const AttentionBlock& block_;
  const Wanted wanted_;
  const BlockScores<T> scores_;
  const int64_t width_, pitch_;
  T *const weights_,
      *const slopes_;  // [keys][pitch]; slopes of the loss in weights, then in scores
  T* const arrived_;   // [e][width]
  T *const key_rows_, *const query_rows_, *const arrived_rows_;  // panels, where they are packed
  T shift_[block_queries], share_[block_queries], mean_[block_queries];
};

void run_gradient_float(const GradientCall& call, const AttentionBlock& block, Wanted wanted,
                        void* scratch) {
  BlockGradient<float>(call, block, wanted, static_cast<float*>(scratch)).run();
}
void run_gradient_double(const GradientCall& call, const AttentionBlock& block, Wanted wanted,
                         void* scratch) {
  BlockGradient<double>(call, block, wanted, static_cast<double*>(scratch)).run();
}

}  // namespace mt::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mt::cpu {
namespace {

HWY_EXPORT(run_gradient_float);
HWY_EXPORT(run_gradient_double);

int64_t worker_scratch(const AttentionSizes& sizes, Dtype dtype) {
  int64_t numbers = scores_scratch(sizes) + 2 * attention_panel * most_pitch +
                    sizes.e * block_queries +
                    panels_scratch(attention_panel + block_queries, sizes.d) +
                    panels_scratch(block_queries, sizes.e);
  return numbers * static_cast<int64_t>(size_of(dtype));
}

class GradientRun {
 public:
  GradientRun(const NaiveCall& naive, void* scratch, int threads)
      : call_(naive),
        dtype_(naive.output.dtype),
        scratch_(static_cast<char*>(scratch)),
        own_(worker_scratch(call_.sizes, dtype_)),
        threads_(call_.sizes.threads(threads)) {}

  // A pair of blocks costs five products if all gradients are found at once; three for the queries'
  // alone and four for the others.
  void run() {
    const AttentionSizes& sizes = call_.sizes;
    const int64_t rounds = (sizes.batch + threads_ - 1) / threads_;
    if (rounds * threads_ * 5 <= sizes.batch * 7) {
      parallel_items(sizes.batch, threads_, [&](int64_t entry, int worker) {
        find_for_keys(entry, 0, sizes.m, true, worker);
      });
      return;
    }
    const int64_t blocks = sizes.blocks();
    parallel_items(sizes.batch * blocks, threads_, [&](int64_t item, int worker) {
      // If queries see only the keys before them, the last queries see the most.
      run_block(block_of(call_, item / blocks, blocks - 1 - item % blocks), {true, false, 0, true},
                worker);
    });
    // Shares of keys are not too small, because each one packs all queries again.
    const int64_t even = sizes.batch * sizes.m / (4 * threads_ * attention_panel);
    const int64_t share = std::clamp<int64_t>(even, 1, 4) * attention_panel;
    const int64_t shares = (sizes.m + share - 1) / share;
    parallel_items(sizes.batch * shares, threads_, [&](int64_t item, int worker) {
      const int64_t key = item % shares * share;
      find_for_keys(item / shares, key, std::min(key + share, sizes.m), false, worker);
    });
  }

 private:
  void run_block(const AttentionBlock& block, Wanted wanted, int worker) {
    void* const scratch = scratch_ + worker * own_;
    dtype_ == Dtype::float64
        ? HWY_DYNAMIC_DISPATCH(run_gradient_double)(call_, block, wanted, scratch)
        : HWY_DYNAMIC_DISPATCH(run_gradient_float)(call_, block, wanted, scratch);
  }

  // Zeroes rows [begin, end) of an entry.
  void clear(const Matrices& of, int64_t entry, int64_t begin, int64_t end, int64_t columns) {
    const size_t bytes = static_cast<size_t>(columns) * size_of(dtype_);
    for (int64_t row = begin; row < end; ++row) {
      std::memset(dtype_ == Dtype::float64
                      ? static_cast<void*>(to_be_written<double>(of, entry, row))
                      : to_be_written<float>(of, entry, row),
                  0, bytes);
    }
  }

  // Finds what all queries add to keys [begin, end) and, if `queries`, what these add to queries.
  void find_for_keys(int64_t entry, int64_t begin, int64_t end, bool queries, int worker) {
    int64_t fresh = begin;
    for (int64_t i = 0; i < call_.sizes.blocks(); ++i) {
      AttentionBlock block = block_of(call_, entry, i);
      block.key_begin = begin;
      block.key_end = std::min(end, block.key_end);
      if (block.key_begin >= block.key_end) continue;
      run_block(block, {queries, true, fresh, end == call_.sizes.m}, worker);
      fresh = block.key_end;
    }
    // No query sees these keys.
    clear(call_.key_gradient, entry, fresh, end, call_.sizes.d);
    clear(call_.value_gradient, entry, fresh, end, call_.sizes.e);
  }

  const GradientCall call_;
  const Dtype dtype_;
  char* const scratch_;
  const int64_t own_;
  const int threads_;
};

}  // namespace

int64_t attention_gradient_scratch(const CallGroup& group, int threads) {
  return threads * worker_scratch(AttentionSizes(group), group.output.dtype);
}

void attention_gradient_kernel(const NaiveCall& call, void* scratch, int threads) {
  GradientRun(call, scratch, threads).run();
}

}  // namespace mt::cpu
#endif
