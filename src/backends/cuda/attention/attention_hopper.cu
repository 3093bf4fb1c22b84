// SPDX-License-Identifier: Apache-2.0
// Attention of 16-bit floats on Hopper's tensor cores, as FlashAttention-3 orders it (Shah et al.,
// 2024, arXiv 2407.08608).
//
// Idea: as in attention_half.cu, but products go on by themselves (warpgroup_unit.h). One thread
// copies: queries, and keys and values in rings of stages. Each of the other warpgroups has 64
// queries, begins the scores of one block of keys, then the sums of the values of the block before,
// and makes weights of the scores while those sums, and the other warpgroups' products, go on. The
// warpgroups begin their products in turn, so that the weights of one are made while those of the
// others are multiplied. What a warpgroup has done last with a tile goes on while it begins the
// next.
//
// Shapes: where rows are at most 64 long a block takes 192 queries, else 128, and 128 keys at a
// time. A block goes from tile to tile (attention_hopper.h).
//
// Limit: the tensor cores. Where rows are 128 long they take 1024 cycles for a warpgroup's block of
// keys, whose weights take 512 cycles of the unit for powers, and 640 instructions of each warp.
#include "backends/cuda/attention/attention_hopper.h"

namespace mt::cuda {
namespace {

// One thread's work.
template <class Plan>
__device__ void copy_operands(const HopperAttention& of) {
  Turn<Plan::query_stages> query;
  Turn<Plan::stages> turn;
  QueryTiles<Plan> tile(of);
  while (tile.next()) {
    size_t full = Plan::full_query(query.stage);
    wait_for_arrivals(Plan::empty_query(query.stage), query.parity ^ 1);
    arrive_expecting(full, Plan::Queries::bytes);
    Plan::Queries::copy(Plan::query(query.stage), of.query, tile.entry, tile.first, full);
    query.next();
    for (int key = 0; key < tile.end; key += Plan::keys, turn.next()) {
      full = Plan::full_key(turn.stage);
      wait_for_arrivals(Plan::empty_key(turn.stage), turn.parity ^ 1);
      arrive_expecting(full, Plan::Keys::bytes);
      Plan::Keys::copy(Plan::key(turn.stage), of.key, tile.entry, key, full);
      full = Plan::full_value(turn.stage);
      wait_for_arrivals(Plan::empty_value(turn.stage), turn.parity ^ 1);
      arrive_expecting(full, Plan::Keys::bytes);
      Plan::Keys::copy(Plan::value(turn.stage), of.value, tile.entry, key, full);
    }
  }
}

// A warpgroup's work.
template <class Plan>
class OwnQueries {
 public:
  __device__ OwnQueries(const CallView& call, const HopperAttention& of, int group)
      : call_(call),
        of_(of),
        group_(group),
        scale_(static_cast<float>(unpack<double>(call.immediate.value[0]))),
        unit_(fabsf(scale_) * log2_e + 0x1p-126f) {
    const int thread = static_cast<int>(threadIdx.x) % group_threads;
    own_row_ = group * group_rows + thread / 32 * 16 + thread % 32 / 4;
  }

  __device__ void run() {
    QueryTiles<Plan> tile(of_);
    if (!tile.next()) return;
    wait_for_arrivals(Plan::full_query(query_.stage), query_.parity);
    wait_for_arrivals(Plan::full_key(key_.stage), key_.parity);
    wait_for_turn();
    begin_products();
    begin_scores();
    commit_products();
    pass_turn();
    wait_for_products<0>();
    end_scores();
    begin_tile(tile);
    weigh();
    round();
    // Scores of the next keys, those of the next tile in the end, and sums of these.
    while (true) {
      const bool goes_on = key_begin_ + keys < end_;
      if (!goes_on) {
        if (!tile.next()) break;
        wait_for_arrivals(Plan::full_query(query_.stage), query_.parity);
      }
      wait_for_arrivals(Plan::full_key(key_.stage), key_.parity);
      wait_for_arrivals(Plan::full_value(value_.stage), value_.parity);
      wait_for_turn();
      settle(weights_);
      settle(sums_);
      begin_products();
      begin_scores();
      commit_products();
      begin_sums();
      commit_products();
      pass_turn();
      wait_for_products<1>();
      end_scores();
      if (goes_on) {
        key_begin_ += keys;
      } else {
        wait_for_products<0>();
        take_products(sums_);
        write();
        begin_tile(tile);
      }
      weigh();
      wait_for_products<0>();
      take_products(sums_);
      take_products(scores_);  // they are not rounded sooner
      let_go(Plan::empty_value(value_.stage));
      value_.next();
      round();
    }
    wait_for_arrivals(Plan::full_value(value_.stage), value_.parity);
    settle(weights_);
    settle(sums_);
    begin_products();
    begin_sums();
    commit_products();
    wait_for_products<0>();
    take_products(sums_);
    write();
  }

 private:
  static constexpr int keys = Plan::keys, width = Plan::width;
  static constexpr float nothing = -INFINITY;

  static __device__ void let_go(size_t at) {
    if (threadIdx.x % 32 == 0) arrive(at);
  }
  __device__ void wait_for_turn() {
    wait_for_arrivals(Plan::turn(group_), turn_.parity ^ (group_ == 0 ? 1u : 0u));
    turn_.next();
  }
  __device__ void pass_turn() { let_go(Plan::turn((group_ + 1) % Plan::groups)); }

  __device__ void begin_scores() {
    const size_t own = Plan::query(query_.stage) + static_cast<size_t>(group_) * box_bytes;
    MT_UNROLL for (int step = 0; step < width; step += group_depth) {
      multiply_group<Plan::factor, true, true>(scores_, Plan::Queries::along_row(own, step),
                                               Plan::Keys::along_row(Plan::key(key_.stage), step),
                                               step > 0);
    }
  }
  __device__ void begin_sums() {
    MT_UNROLL for (int k = 0; k < keys / group_depth; ++k) {
      multiply_registers<Plan::factor, false>(
          sums_, weights_[k], Plan::Keys::across_rows(Plan::value(value_.stage), k * group_depth),
          adds_ || k > 0);
    }
    adds_ = true;
  }
  __device__ void end_scores() {
    take_products(scores_);
    let_go(Plan::empty_key(key_.stage));
    key_.next();
  }

  __device__ void begin_tile(const QueryTiles<Plan>& tile) {
    entry_ = tile.entry;
    first_ = tile.first;
    end_ = tile.end;
    key_begin_ = 0;
    adds_ = false;
    MT_UNROLL for (int half = 0; half < 2; ++half) largest_[half] = nothing, total_[half] = 0;
  }

  // What the scores become.
  __device__ void weigh() {
    const int key = key_begin_, end = key + keys, first = first_ + group_ * group_rows;
    if (end >= end_) {  // of all scores of the tile
      let_go(Plan::empty_query(query_.stage));
      query_.next();
    }
    if constexpr (Plan::masked) {
      MT_UNROLL for (int i = 0; i < keys / 2; ++i) scores_[i] *= scale_;
      add_mask(key);
    } else if (scale_ < 0) {
      MT_UNROLL for (int i = 0; i < keys / 2; ++i) scores_[i] = -scores_[i];
    }
    if (end > of_.m || (of_.causal && end > first + 1)) hide(key);
    // Of each half in two parts, so that a comparison need not wait for the one before.
    float most[4] = {largest_[0], largest_[0], largest_[1], largest_[1]};
    MT_UNROLL for (int i = 0; i < keys / 2; ++i) most[i % 4] = fmaxf(most[i % 4], scores_[i]);
    MT_UNROLL for (int half = 0; half < 2; ++half) {
      const float largest = of_four_lanes(fmaxf(most[2 * half], most[2 * half + 1]),
                                          [](float a, float b) { return fmaxf(a, b); });
      // Nothing is taken off where all is hidden as yet: inf - inf is NaN.
      const float shift = largest == nothing ? 0.0f : largest;
      // Without a mask the scale is left to the exponents.
      const float taken_off = Plan::masked ? shift : shift * unit_;
      auto weight = [&](float score) {
        if constexpr (Plan::masked) return exp_from(score, taken_off);
        return power_of_two(fmaf(score, unit_, -taken_off));
      };
      by_[half] = weight(largest_[half]);
      largest_[half] = largest;
      float total = total_[half] * by_[half];
      MT_UNROLL for (int j = 0; j < keys / 8; ++j) {
        MT_UNROLL for (int i = 4 * j + 2 * half; i < 4 * j + 2 * half + 2; ++i) {
          scores_[i] = weight(scores_[i]);
          total += scores_[i];
        }
      }
      total_[half] = total;
    }
  }
  // The weights are the operands of what is summed up next.
  __device__ void round() {
    MT_UNROLL for (int i = 0; i < width / 2; ++i) sums_[i] *= by_[i / 2 % 2];
    MT_UNROLL for (int i = 0; i < keys / 2; i += 2) {
      weights_[i / 8][i / 2 % 4] = round_pair<Plan::factor>(scores_[i], scores_[i + 1]);
    }
  }

  __device__ void hide(int key) {
    MT_UNROLL for (int half = 0; half < 2; ++half) {
      const int row = first_ + own_row_ + 8 * half;
      int last = of_.causal && row < of_.m ? row : of_.m - 1;
      last -= key + static_cast<int>(threadIdx.x % 4) * 2;
      MT_UNROLL for (int j = 0; j < keys / 8; ++j) {
        MT_UNROLL for (int i = 0; i < 2; ++i) {
          if (8 * j + i > last) scores_[4 * j + 2 * half + i] = nothing;
        }
      }
    }
  }
  __device__ void add_mask(int key) {
    const EntryMask mask(view(call_.inputs, 3), entry_);
    MT_UNROLL for (int half = 0; half < 2; ++half) {
      const int row = first_ + own_row_ + 8 * half;
      if (row >= of_.n) continue;
      MT_UNROLL for (int j = 0; j < keys / 8; ++j) {
        MT_UNROLL for (int i = 0; i < 2; ++i) {
          const int column = key + 8 * j + static_cast<int>(threadIdx.x % 4) * 2 + i;
          float& score = scores_[4 * j + 2 * half + i];
          if (column < of_.m) score = mask(score, row, column);
        }
      }
    }
  }

  // Divides by the totals, and writes the rows and what the gradient needs of them.
  __device__ void write() {
    auto out = reinterpret_cast<float*>(call_.output.data);
    const int64_t all = int64_t{of_.batch} * of_.n, columns = of_.columns;
    MT_UNROLL for (int half = 0; half < 2; ++half) {
      const float total =
          divisor_of(of_four_lanes(total_[half], [](float a, float b) { return a + b; }));
      const int query = first_ + own_row_ + 8 * half;
      if (query >= of_.n) continue;
      const int64_t row = int64_t{entry_} * of_.n + query;
      if (threadIdx.x % 4 == 0) {
        const float largest = Plan::masked ? largest_[half] : largest_[half] * fabsf(scale_);
        store(out, all * columns + row, largest_[half] == nothing ? 0.0f : largest);
        store(out, all * (columns + 1) + row, total);
      }
      store_row<width>(sums_, half, out, row, of_.columns, 1 / total);
    }
  }

  const CallView& call_;
  const HopperAttention& of_;
  const int group_;
  // Of a score; and for a power of two, which is not 0, since what is hidden is infinite.
  const float scale_, unit_;
  int own_row_;  // of the tile, of two; the other is 8 after it
  int entry_ = 0, first_ = 0, end_ = 0, key_begin_ = 0;
  Turn<Plan::query_stages> query_;
  Turn<Plan::stages> key_, value_;
  Turn<1> turn_;
  bool adds_ = false;  // the sums have begun
  float scores_[keys / 2] = {}, sums_[width / 2] = {};
  uint32_t weights_[keys / group_depth][4] = {};
  float largest_[2] = {}, total_[2] = {}, by_[2] = {};  // of the lane's own keys
};

template <class Plan>
__global__ void __launch_bounds__(Plan::threads, 1)
    hopper_kernel(const CallView* call, const __grid_constant__ HopperAttention of) {
#if MT_ON_HOPPER
  constexpr unsigned warps = Plan::groups * group_threads / 32;
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < Plan::query_stages; ++stage) {
      make_arrivals(Plan::full_query(stage), 1);
      make_arrivals(Plan::empty_query(stage), warps);
    }
    for (int stage = 0; stage < Plan::stages; ++stage) {
      make_arrivals(Plan::full_key(stage), 1);
      make_arrivals(Plan::empty_key(stage), warps);
      make_arrivals(Plan::full_value(stage), 1);
      make_arrivals(Plan::empty_value(stage), warps);
    }
    for (int group = 0; group < Plan::groups; ++group) {
      make_arrivals(Plan::turn(group), group_threads / 32);
    }
    publish_arrivals();
  }
  __syncthreads();
  const int group = static_cast<int>(threadIdx.x) / group_threads;
  if (group > 0) {
    take_registers<Plan::own_registers>();
    OwnQueries<Plan>(view(call), of, group - 1).run();
  } else {
    give_registers<Plan::copying_registers>();
    if (threadIdx.x == 0) copy_operands<Plan>(of);
  }
#endif
}

constexpr int64_t cached_bytes = 32 << 20;  // of keys and values
constexpr int64_t most_counted = 1 << 30;   // of what 32 bits count
constexpr int fewest_rows = group_rows;     // of queries, and of keys

template <class Plan>
void launch_plan(const Call& call, const AttentionShape& shape) {
  HopperAttention of{};
  auto operand = [&](int i, int rows) {
    const Operand& input = call.group.inputs[i];
    return bulk_operand(input, rows, call.buffers[input.buffer]);
  };
  of.query = operand(0, Plan::queries);
  of.key = operand(1, Plan::keys);
  of.value = operand(2, Plan::keys);
  of.batch = static_cast<int>(shape.batch);
  of.n = static_cast<int>(shape.n);
  of.m = static_cast<int>(shape.m);
  of.columns = static_cast<int>(shape.e);
  of.together = static_cast<int>(
      std::clamp<int64_t>(cached_bytes / (shape.m * (shape.d + shape.e) * 2), 1, shape.batch));
  of.causal = shape.causal;
  const int64_t tiles = shape.batch * ((shape.n + Plan::queries - 1) / Plan::queries);
  const int64_t blocks = std::min<int64_t>(tiles, call.device.processors);
  launch("attention hopper", hopper_kernel<Plan>, {static_cast<unsigned>(blocks)}, {Plan::threads},
         Plan::bytes, call.stream, call.view, of);
}

}  // namespace

bool suits_attention_hopper(const Call& call, const AttentionShape& shape) {
  if (call.device.capability != 90 || shape.n < fewest_rows || shape.m < fewest_rows) return false;
  if (shape.batch * shape.n > most_counted) return false;
  const std::vector<Operand>& inputs = call.group.inputs;
  if (inputs.size() > 4 && !is_bulk_operand(inputs[3])) return false;
  return is_bulk_operand(inputs[0]) && is_bulk_operand(inputs[1]) && is_bulk_operand(inputs[2]);
}

void launch_attention_hopper(const Call& call, const AttentionShape& shape) {
  const bool masks = call.group.inputs.size() > 3;
  with_half_types(call, shape, masks, [&](auto factor, auto width, auto masked) {
    launch_plan<AttentionPlan<factor.value, width.value, masked.value>>(call, shape);
  });
}

}  // namespace mt::cuda
