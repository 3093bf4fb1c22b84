// SPDX-License-Identifier: Apache-2.0
// The gradient of attention of 16-bit floats on Hopper's tensor cores.
//
// Idea: as in attention_half_gradient.cu there is one kernel for queries and for keys, and a block
// has rows of its own and walks over the others. Scores and the slopes of weights are products of
// both from shared memory, with a warpgroup's own rows as rows; weights and slopes of scores are
// made of them in registers, and are from there the left operands of what is summed up. One thread
// copies the others' rows into a ring, and a warp beside it what is known of other queries. While
// one warpgroup makes weights the other's products go on.
//
// Shapes: a block has 128 rows of its own, and takes 64 others at a time. Which calls suit: see
// attention_hopper.cu.
//
// Limit: the tensor cores, of which 64 keys and 64 queries take 1024 cycles in the kernel for keys,
// and 768 in that for queries, where rows are 128 long; the scores are made twice. In 512 of these
// cycles they read as much of shared memory as it gives.
#include "backends/cuda/attention/attention_hopper.h"

namespace mt::cuda {

template <Factor factor_, int width_, bool masked_, bool of_keys_>
struct GradientPlan {
  static constexpr Factor factor = factor_;
  static constexpr int width = width_;
  static constexpr bool masked = masked_, of_keys = of_keys_;
  static constexpr int groups = 2, threads = (1 + groups) * group_threads;
  static constexpr int side = groups * group_rows, others = 64, stages = 4;
  static constexpr int copying_registers = 24, own_registers = 240;
  static_assert(copying_registers % 8 == 0 && own_registers % 8 == 0);
  static_assert(copying_registers + groups * own_registers <= most_hopper_registers);

  using Own = BulkRows<width, side>;
  using Others = BulkRows<width, others>;
  // Own rows, of two operands, then the others' in a ring, what is known of other queries,
  // barriers.
  static constexpr size_t number_bytes = 3 * others * sizeof(float), at_others = 2 * Own::bytes,
                          at_numbers = at_others + 2 * stages * Others::bytes,
                          at_barriers = at_numbers + stages * number_bytes,
                          bytes = at_barriers + 8 * (1 + 2 * stages);
  static_assert(bytes <= most_hopper_bytes);

  static __device__ size_t own(int operand) { return static_cast<size_t>(operand) * Own::bytes; }
  static __device__ size_t other(int operand, int stage) {
    return at_others + static_cast<size_t>(2 * stage + operand) * Others::bytes;
  }
  static __device__ size_t numbers(int stage) {
    return at_numbers + static_cast<size_t>(stage) * number_bytes;
  }
  static __device__ size_t full_own() { return at_barriers; }
  static __device__ size_t full(int stage) {
    return at_barriers + 8 + static_cast<size_t>(stage) * 16;
  }
  static __device__ size_t empty(int stage) { return full(stage) + 8; }
};

namespace {

// The call, and which of its pairs the block has: of causal ones only those whose key is not after
// the query.
struct HopperGradient {
  BulkOperand query, key, value, arrived;
  int batch, n, m, d, e;
  bool causal;
  float* scratch;
};
template <class Plan>
struct OwnPairs {
  const HopperGradient& of;
  int entry, first, begin, end;

  __device__ explicit OwnPairs(const HopperGradient& call) : of(call) {
    const int rows = Plan::of_keys ? of.m : of.n, blocks = (rows + Plan::side - 1) / Plan::side;
    // Those that have the most to do come first: the last queries and the first keys.
    const int id = static_cast<int>(blockIdx.x), block = id % blocks;
    entry = id / blocks;
    first = (Plan::of_keys ? block : blocks - 1 - block) * Plan::side;
    begin = Plan::of_keys && of.causal ? first : 0;
    end = Plan::of_keys ? of.n : of.m;
    if (!Plan::of_keys && of.causal && end - first > Plan::side) end = first + Plan::side;
  }
  __device__ int64_t rows_before() const { return int64_t{entry} * of.n; }
};

// One thread's work.
template <class Plan>
__device__ void copy_rows(const OwnPairs<Plan>& pairs) {
  const HopperGradient& of = pairs.of;
  if (pairs.begin >= pairs.end) return;
  const BulkOperand &own = Plan::of_keys ? of.key : of.query,
                    &own_values = Plan::of_keys ? of.value : of.arrived,
                    &others = Plan::of_keys ? of.query : of.key,
                    &other_values = Plan::of_keys ? of.arrived : of.value;
  arrive_expecting(Plan::full_own(), 2 * Plan::Own::bytes);
  Plan::Own::copy(Plan::own(0), own, pairs.entry, pairs.first, Plan::full_own());
  Plan::Own::copy(Plan::own(1), own_values, pairs.entry, pairs.first, Plan::full_own());
  Turn<Plan::stages> turn;
  for (int other = pairs.begin; other < pairs.end; other += Plan::others, turn.next()) {
    const size_t full = Plan::full(turn.stage);
    wait_for_arrivals(Plan::empty(turn.stage), turn.parity ^ 1);
    arrive_expecting(full, 2 * Plan::Others::bytes);
    Plan::Others::copy(Plan::other(0, turn.stage), others, pairs.entry, other, full);
    Plan::Others::copy(Plan::other(1, turn.stage), other_values, pairs.entry, other, full);
  }
}

// A query's, see AttentionRows.
struct QueryNumbers {
  float shift, share, mean;
};
template <class Plan>
__device__ QueryNumbers numbers_of(const CallView& call, const OwnPairs<Plan>& pairs, int query) {
  const HopperGradient& of = pairs.of;
  if (query >= of.n) return {0, 0, 0};
  const int64_t all = int64_t{of.batch} * of.n, i = pairs.rows_before() + query;
  auto shifts = reinterpret_cast<const float*>(view(call.inputs, 4).data) + all * of.e;
  return {load(shifts, i), load(of.scratch, i), load(of.scratch, all + i)};
}

// A warp's work, where others are queries.
template <class Plan>
__device__ void bring_numbers(const CallView& call, const OwnPairs<Plan>& pairs) {
  constexpr int others = Plan::others;
  Turn<Plan::stages> turn;
  for (int other = pairs.begin; other < pairs.end; other += others, turn.next()) {
    wait_for_arrivals(Plan::empty(turn.stage), turn.parity ^ 1);
    auto to = shared<float>(Plan::numbers(turn.stage));
    for (int i = static_cast<int>(threadIdx.x % 32); i < others; i += 32) {
      const QueryNumbers numbers = numbers_of(call, pairs, other + i);
      to[i] = numbers.shift;
      to[others + i] = numbers.share;
      to[2 * others + i] = numbers.mean;
    }
    __syncwarp();
    if (threadIdx.x % 32 == 0) arrive(Plan::full(turn.stage));
  }
}

// A warpgroup's work.
template <class Plan>
class OwnRows {
 public:
  __device__ OwnRows(const CallView& call, const OwnPairs<Plan>& pairs, int group)
      : call_(call),
        pairs_(pairs),
        of_(pairs.of),
        group_(group),
        scale_(static_cast<float>(unpack<double>(call.immediate.value[0]))) {
    const int thread = static_cast<int>(threadIdx.x) % group_threads;
    own_row_ = pairs.first + group * group_rows + thread / 32 * 16 + thread % 32 / 4;
    if constexpr (!of_keys) {
      MT_UNROLL for (int half = 0; half < 2; ++half) {
        own_[half] = numbers_of(call, pairs, own_row_ + 8 * half);
      }
    }
  }

  __device__ void run() {
    if (pairs_.begin < pairs_.end) wait_for_arrivals(Plan::full_own(), 0);
    for (int other = pairs_.begin; other < pairs_.end; other += others, turn_.next()) {
      wait_for_arrivals(Plan::full(turn_.stage), turn_.parity);
      begin_products();
      multiply(scores_, 0);
      commit_products();
      multiply(changes_, 1);
      commit_products();
      wait_for_products<1>();
      take_products(scores_);
      weigh(other);
      wait_for_products<0>();
      take_products(changes_);
      find_slopes();
      settle(slopes_);
      settle(sums_);
      if constexpr (of_keys) {
        settle(weights_);
        settle(value_sums_);
      }
      begin_products();
      add_weighted(sums_, slopes_, 0);
      if constexpr (of_keys) add_weighted(value_sums_, weights_, 1);
      commit_products();
      wait_for_products<0>();
      take_products(sums_);
      if constexpr (of_keys) take_products(value_sums_);
      if (threadIdx.x % 32 == 0) arrive(Plan::empty(turn_.stage));
    }
    auto out = reinterpret_cast<float*>(call_.output.data);
    const int64_t keys = int64_t{of_.batch} * of_.n * of_.d;
    if constexpr (of_keys) {
      write(sums_, out + keys, of_.m, of_.d, [&](int half) { return by_scale(half); });
      write(value_sums_, out + keys + int64_t{of_.batch} * of_.m * of_.d, of_.m, of_.e,
            [](int) { return 1.0f; });
    } else {
      write(sums_, out, of_.n, of_.d, [&](int half) { return by_scale(half); });
    }
  }

 private:
  static constexpr int width = Plan::width, others = Plan::others;
  static constexpr bool of_keys = Plan::of_keys;

  __device__ void multiply(float (&products)[others / 2], int operand) {
    const size_t own = Plan::own(operand) + static_cast<size_t>(group_) * box_bytes;
    MT_UNROLL for (int step = 0; step < width; step += group_depth) {
      multiply_group<Plan::factor, true, true>(
          products, Plan::Own::along_row(own, step),
          Plan::Others::along_row(Plan::other(operand, turn_.stage), step), step > 0);
    }
  }
  __device__ void add_weighted(float (&sums)[width / 2],
                               const uint32_t (&left)[others / group_depth][4], int operand) {
    MT_UNROLL for (int k = 0; k < others / group_depth; ++k) {
      multiply_registers<Plan::factor, false>(
          sums, left[k],
          Plan::Others::across_rows(Plan::other(operand, turn_.stage), k * group_depth), true);
    }
  }

  // What is known of the query of number i of the scores.
  __device__ QueryNumbers numbers_for(int i) const {
    if constexpr (!of_keys) return own_[i / 2 % 2];
    auto numbers = shared<float>(Plan::numbers(turn_.stage));
    const int column = 8 * (i / 4) + static_cast<int>(threadIdx.x % 4) * 2 + i % 2;
    return {numbers[column], numbers[others + column], numbers[2 * others + column]};
  }

  // The scores become weights that are not divided by their totals yet.
  __device__ void weigh(int other) {
    MT_UNROLL for (int i = 0; i < others / 2; ++i) scores_[i] *= scale_;
    if constexpr (Plan::masked) add_mask(other);
    const int own = pairs_.first + group_ * group_rows, own_end = own + group_rows;
    const bool in_order = of_keys ? own_end <= other + 1 : other + others <= own + 1;
    if ((of_.causal && !in_order) || (of_keys ? own_end : other + others) > of_.m) hide(other);
    MT_UNROLL for (int i = 0; i < others / 2; ++i) {
      scores_[i] = exp_from(scores_[i], numbers_for(i).shift);
    }
  }
  __device__ void hide(int other) {
    const int column = static_cast<int>(threadIdx.x % 4) * 2;
    MT_UNROLL for (int i = 0; i < others / 2; ++i) {
      const int row = own_row_ + i / 2 % 2 * 8, c = other + 8 * (i / 4) + column + i % 2;
      const int query = of_keys ? c : row, key = of_keys ? row : c;
      if (key >= of_.m || (of_.causal && key > query)) scores_[i] = -INFINITY;
    }
  }
  __device__ void add_mask(int other) {
    const EntryMask mask(view(call_.inputs, 5), pairs_.entry);
    const int column = static_cast<int>(threadIdx.x % 4) * 2;
    MT_UNROLL for (int i = 0; i < others / 2; ++i) {
      const int row = own_row_ + i / 2 % 2 * 8, c = other + 8 * (i / 4) + column + i % 2;
      const int query = of_keys ? c : row, key = of_keys ? row : c;
      if (query < of_.n && key < of_.m) scores_[i] = mask(scores_[i], query, key);
    }
  }

  // The weights of pairs, and the slopes of their scores, multiplied as powers_ says.
  __device__ void find_slopes() {
    MT_UNROLL for (int i = 0; i < others / 2; ++i) {
      const QueryNumbers numbers = numbers_for(i);
      changes_[i] = scores_[i] * (changes_[i] * numbers.share - numbers.mean);
      scores_[i] *= numbers.share;
    }
    if constexpr (of_keys) round(weights_, scores_);
    if constexpr (Plan::factor == Factor::float16) fit();
    round(slopes_, changes_);
  }
  static __device__ void round(uint32_t (&to)[others / group_depth][4],
                               const float (&from)[others / 2]) {
    MT_UNROLL for (int i = 0; i < others / 2; i += 2) {
      to[i / 8][i / 2 % 4] = round_pair<Plan::factor>(from[i], from[i + 1]);
    }
  }

  __device__ void fit() {
    MT_UNROLL for (int half = 0; half < 2; ++half) {
      float largest = 0;
      MT_UNROLL for (int i = 0; i < others / 2; ++i) {
        if (i / 2 % 2 == half) largest = fmaxf(largest, fabsf(changes_[i]));
      }
      largest = of_four_lanes(largest, [](float a, float b) { return fmaxf(a, b); });
      const int fits = fitting(largest), before = powers_[half];
      if (fits < before) {
        powers_[half] = fits;
        const float by = power(before - fits < 127 ? 127 + fits - before : 0);
        MT_UNROLL for (int i = 0; i < width / 2; ++i) {
          if (i / 2 % 2 == half) sums_[i] *= by;
        }
      }
      const float by = power(powers_[half]);
      MT_UNROLL for (int i = 0; i < others / 2; ++i) {
        if (i / 2 % 2 == half) changes_[i] *= by;
      }
    }
  }

  __device__ float by_scale(int half) const { return scale_ * power(254 - powers_[half]); }
  template <class By>
  __device__ void write(const float (&sums)[width / 2], float* to, int count, int columns,
                        By&& by) const {
    MT_UNROLL for (int half = 0; half < 2; ++half) {
      const int row = own_row_ + 8 * half;
      if (row >= count) continue;
      store_row<width>(sums, half, to, int64_t{pairs_.entry} * count + row, columns, by(half));
    }
  }

  const CallView& call_;
  const OwnPairs<Plan>& pairs_;
  const HopperGradient& of_;
  const int group_;
  const float scale_;
  int own_row_;  // of two; the other is 8 after it
  Turn<Plan::stages> turn_;
  QueryNumbers own_[2] = {};
  // What the rows' slopes and their sums are multiplied by.
  static constexpr int most_power = Plan::factor == Factor::float16 ? 227 : 127;
  int powers_[2] = {most_power, most_power};
  float scores_[others / 2] = {}, changes_[others / 2] = {};
  uint32_t weights_[others / group_depth][4], slopes_[others / group_depth][4];
  float sums_[width / 2] = {}, value_sums_[width / 2] = {};
};

template <class Plan>
__global__ void __launch_bounds__(Plan::threads, 1)
    gradient_kernel(const CallView* call, const __grid_constant__ HopperGradient of) {
#if MT_ON_HOPPER
  if (threadIdx.x == 0) {
    make_arrivals(Plan::full_own(), 1);
    for (int stage = 0; stage < Plan::stages; ++stage) {
      make_arrivals(Plan::full(stage), Plan::of_keys ? 2 : 1);
      make_arrivals(Plan::empty(stage), Plan::groups * group_threads / 32);
    }
    publish_arrivals();
  }
  __syncthreads();
  const OwnPairs<Plan> pairs(of);
  const int group = static_cast<int>(threadIdx.x) / group_threads;
  if (group > 0) {
    take_registers<Plan::own_registers>();
    OwnRows<Plan>(view(call), pairs, group - 1).run();
  } else {
    give_registers<Plan::copying_registers>();
    if (threadIdx.x == 0) {
      copy_rows(pairs);
    } else if (Plan::of_keys && threadIdx.x / 32 == 1) {
      bring_numbers(view(call), pairs);
    }
  }
#endif
}

template <class Plan>
void launch_plan(const Call& call, const AttentionShape& shape) {
  HopperGradient of{};
  auto operand = [&](int i, bool own) {
    const Operand& input = call.group.inputs[i];
    return bulk_operand(input, own ? Plan::side : Plan::others, call.buffers[input.buffer]);
  };
  of.query = operand(0, !Plan::of_keys);
  of.key = operand(1, Plan::of_keys);
  of.value = operand(2, Plan::of_keys);
  of.arrived = operand(3, !Plan::of_keys);
  of.batch = static_cast<int>(shape.batch);
  of.n = static_cast<int>(shape.n);
  of.m = static_cast<int>(shape.m);
  of.d = static_cast<int>(shape.d);
  of.e = static_cast<int>(shape.e);
  of.causal = shape.causal;
  of.scratch = reinterpret_cast<float*>(call.scratch);
  const int64_t rows = Plan::of_keys ? shape.m : shape.n;
  const int64_t blocks = shape.batch * ((rows + Plan::side - 1) / Plan::side);
  launch("attention hopper gradient", gradient_kernel<Plan>, {static_cast<unsigned>(blocks)},
         {Plan::threads}, Plan::bytes, call.stream, call.view, of);
}

}  // namespace

void launch_attention_hopper_gradient(const Call& call, const AttentionShape& shape) {
  launch_attention_means(call, shape);
  const bool masks = call.group.inputs.size() > 5;
  with_half_types(call, shape, masks, [&](auto factor, auto width, auto masked) {
    launch_plan<GradientPlan<factor.value, width.value, masked.value, false>>(call, shape);
    launch_plan<GradientPlan<factor.value, width.value, masked.value, true>>(call, shape);
  });
}

}  // namespace mt::cuda
