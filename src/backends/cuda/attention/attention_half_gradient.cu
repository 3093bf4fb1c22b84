// SPDX-License-Identifier: Apache-2.0
// The gradient of attention of 16-bit floats on the tensor cores.
//
// Idea: as in attention_gradient.cu there is one kernel for queries and for keys, and a block has
// rows of its own and walks over the others. Scores and the slopes of weights are made with a
// warp's own rows as rows, and never leave its registers: as weights and slopes of scores, rounded
// to 16 bits, they are the left fragments of what is summed up next. The others' rows come to
// shared memory once, for the scores and for the sums, while those before them are worked on.
//
// Slopes of scores may be smaller, or larger, than float16 has numbers for. So each row's are
// multiplied by a power of two that takes the largest so far near the end of float16's range, and
// its sums are divided by that in the end.
//
// Shapes: a block has 64 rows of its own, each of its 4 warps 16, and takes 64 others at a time, 32
// where rows are 128 long; then each lane has 128 sums. Which calls suit: see attention_half.cu.
//
// Limit: shared memory; for 5 fragments that are fetched for scores there are 8 multiplied (of 128
// columns for 3 there are 4), for a pair of fragments of others 2.
#include "backends/cuda/attention/attention_half.h"

namespace mt::cuda {
namespace {

constexpr int own_rows = 16, side = half_warps * own_rows;

template <Factor factor, int width, bool masked, bool of_keys>
class OwnBlock {
 public:
  static constexpr int others = width == 64 ? 64 : 32;
  using Rows = HalfRows<factor, width>;
  // Where in shared memory lies what: the own rows of key and value or of query and what arrived,
  // then twice the others'. Of other queries also a few numbers each.
  static constexpr size_t own_bytes = side * Rows::row_bytes,
                          other_bytes = others * Rows::row_bytes,
                          number_bytes = of_keys ? others * sizeof(float) : 0,
                          stage_bytes = 2 * other_bytes + 3 * number_bytes,
                          bytes = 2 * (own_bytes + stage_bytes);

  __device__ OwnBlock(const CallView& call, const AttentionShape& shape, float* scratch,
                      int64_t entry, int first)
      : of_(call, shape, entry, 5),
        arrived_(matrix_of<uint16_t>(view(call.inputs, 3), entry)),
        rows_(call, shape, scratch),
        first_(first),
        own_row_(static_cast<int>(threadIdx.x) / 32 * own_rows) {}

  __device__ void run(float* gradients) {
    const AttentionShape& shape = of_.shape;
    // Of causal pairs only those whose key is not after the query.
    int begin = of_keys && shape.causal ? first_ : 0;
    int end = static_cast<int>(of_keys ? shape.n : shape.m);
    if (!of_keys && shape.causal && first_ + side < end) end = first_ + side;
    if (begin < end) {
      Rows::template fetch<side>(0, of_keys ? of_.key : of_.query, first_);
      Rows::template fetch<side>(own_bytes, of_keys ? of_.value : arrived_, first_);
      fetch(begin, 0);
    }
    commit_copies();
    take_own_numbers();
    int stage = 0;
    for (int other = begin; other < end; other += others, stage ^= 1) {
      wait_for_copies<0>();
      __syncthreads();
      if (other + others < end) fetch(other + others, stage ^ 1);
      commit_copies();
      uint32_t weights[others / 16][1][4], slopes[others / 16][1][4];
      weigh(other, stage, weights, slopes);
      Rows::add_weighted(sums_, slopes, at(stage));
      if constexpr (of_keys) Rows::add_weighted(value_sums_, weights, at(stage) + other_bytes);
    }
    int64_t queries = shape.batch * shape.n * shape.d;
    int64_t keys = queries + shape.batch * shape.m * shape.d;
    if constexpr (of_keys) {
      write(sums_, by_scale(), gradients + queries, shape.m, shape.d);
      auto unchanged = [](int, int) { return 1.0f; };
      write(value_sums_, unchanged, gradients + keys, shape.m, shape.e);
    } else {
      write(sums_, by_scale(), gradients, shape.n, shape.d);
    }
  }

 private:
  // A query's, see AttentionRows.
  struct Numbers {
    float shift, share, mean;
  };

  static __device__ size_t at(int stage) {
    return 2 * own_bytes + static_cast<size_t>(stage) * stage_bytes;
  }
  static __device__ Shared<float> other_numbers(int stage) {
    return shared<float>(at(stage) + 2 * other_bytes);
  }

  __device__ Numbers numbers_of(int query) const {
    if (query >= of_.shape.n) return {0, 0, 0};
    int64_t i = of_.entry * of_.shape.n + query;
    return {load(rows_.shifts, i), load(rows_.shares, i), load(rows_.means, i)};
  }
  __device__ void take_own_numbers() {
    if constexpr (!of_keys) {
      for (int half = 0; half < 2; ++half) {
        own_[half] = numbers_of(first_ + own_row_ + fragment_row(0, 2 * half));
      }
    }
  }
  __device__ Numbers numbers_for(int half, int column, int stage) const {
    if constexpr (!of_keys) return own_[half];
    auto numbers = other_numbers(stage);
    return {numbers[column], numbers[others + column], numbers[2 * others + column]};
  }

  __device__ void fetch(int other, int stage) const {
    Rows::template fetch<others>(at(stage), of_keys ? of_.query : of_.key, other);
    Rows::template fetch<others>(at(stage) + other_bytes, of_keys ? arrived_ : of_.value, other);
    int column = static_cast<int>(threadIdx.x);
    if (!of_keys || column >= others) return;
    Numbers own = numbers_of(other + column);
    auto numbers = other_numbers(stage);
    numbers[column] = own.shift;
    numbers[others + column] = own.share;
    numbers[2 * others + column] = own.mean;
  }

  // The weights of pairs, and the slopes of their scores, multiplied as powers_ says.
  __device__ void weigh(int other, int stage, uint32_t (&weights)[others / 16][1][4],
                        uint32_t (&slopes)[others / 16][1][4]) {
    float scores[1][others / 8][4] = {}, changes[1][others / 8][4] = {};
    Rows::multiply(scores, 0, own_row_, at(stage), of_.shape.d);
    Rows::multiply(changes, own_bytes, own_row_, at(stage) + other_bytes, of_.shape.e);
    const int own = first_ + own_row_, own_end = own + own_rows, end = other + others;
    const bool in_order = of_keys ? own_end <= other + 1 : end <= own + 1;
    const bool all_seen =
        !masked && (!of_.shape.causal || in_order) && (of_keys ? own_end : end) <= of_.shape.m;
    MT_UNROLL for (int j = 0; j < others / 8; ++j) {
      MT_UNROLL for (int r = 0; r < 4; ++r) {
        int column = fragment_column(j, r), row = own + fragment_row(0, r);
        Numbers numbers = numbers_for(r / 2, column, stage);
        float score = scores[0][j][r] * of_.scale;
        if (!all_seen) {
          score = of_keys ? seen<masked>(of_, score, other + column, row)
                          : seen<masked>(of_, score, row, other + column);
        }
        float weight = exp_from(score, numbers.shift);
        scores[0][j][r] = weight * numbers.share;
        changes[0][j][r] = weight * (changes[0][j][r] * numbers.share - numbers.mean);
      }
    }
    if constexpr (of_keys) Rows::round(weights, scores);
    if constexpr (factor == Factor::float16) fit(changes);
    Rows::round(slopes, changes);
  }

  __device__ void fit(float (&slopes)[1][others / 8][4]) {
    MT_UNROLL for (int half = 0; half < 2; ++half) {
      float largest = 0;
      MT_UNROLL for (int j = 0; j < others / 8; ++j) {
        MT_UNROLL for (int r = 2 * half; r < 2 * half + 2; ++r) {
          float size = fabsf(slopes[0][j][r]);
          largest = size > largest ? size : largest;
        }
      }
      largest = of_four_lanes(largest, [](float a, float b) { return a > b ? a : b; });
      int fits = fitting(largest), before = powers_[half];
      if (fits < before) {
        powers_[half] = fits;
        float by = power(before - fits < 127 ? 127 + fits - before : 0);
        MT_UNROLL for (int j = 0; j < width / 8; ++j) {
          sums_[0][j][2 * half] *= by;
          sums_[0][j][2 * half + 1] *= by;
        }
      }
      float by = power(powers_[half]);
      MT_UNROLL for (int j = 0; j < others / 8; ++j) {
        slopes[0][j][2 * half] *= by;
        slopes[0][j][2 * half + 1] *= by;
      }
    }
  }

  __device__ auto by_scale() const {
    return [this](int, int half) { return of_.scale * power(254 - powers_[half]); };
  }
  template <class F>
  __device__ void write(const float (&sums)[1][width / 8][4], F&& by, float* to, int64_t count,
                        int64_t columns) const {
    int64_t before = of_.entry * count;
    store_fragments(sums, to, columns, before + first_ + own_row_, before + count, by);
  }

  const AttentionEntry<float, uint16_t> of_;
  const Matrix<uint16_t> arrived_;
  const AttentionRows<float> rows_;
  const int first_, own_row_;  // of the call's and the block's rows
  Numbers own_[2] = {};
  // What the rows' slopes and their sums are multiplied by.
  static constexpr int most_power = factor == Factor::float16 ? 227 : 127;
  int powers_[2] = {most_power, most_power};
  float sums_[1][width / 8][4] = {}, value_sums_[1][width / 8][4] = {};
};

template <Factor factor, int width, bool masked, bool of_keys>
__global__ void __launch_bounds__(half_threads, 2)
    gradient_kernel(const CallView* call, AttentionShape shape, float* scratch) {
  int64_t rows = of_keys ? shape.m : shape.n, blocks = (rows + side - 1) / side, id = blockIdx.x;
  // Those that have the most to do come first: the last queries and the first keys.
  int64_t block = id % blocks;
  if (!of_keys) block = blocks - 1 - block;
  const CallView& c = view(call);
  OwnBlock<factor, width, masked, of_keys>(c, shape, scratch, id / blocks,
                                           static_cast<int>(block) * side)
      .run(reinterpret_cast<float*>(c.output.data));
}

template <Factor factor, int width, bool masked, bool of_keys>
void launch_for(const Call& call, const AttentionShape& shape) {
  int64_t blocks = shape.batch * (((of_keys ? shape.m : shape.n) + side - 1) / side);
  launch("attention half gradient", gradient_kernel<factor, width, masked, of_keys>,
         {static_cast<unsigned>(blocks)}, {half_threads},
         OwnBlock<factor, width, masked, of_keys>::bytes, call.stream, call.view, shape,
         reinterpret_cast<float*>(call.scratch));
}

}  // namespace

void launch_attention_half_gradient(const Call& call, const AttentionShape& shape) {
  launch_attention_means(call, shape);
  bool masks = call.group.inputs.size() > 5;
  with_half_types(call, shape, masks, [&](auto factor, auto width, auto masked) {
    launch_for<factor.value, width.value, masked.value, false>(call, shape);
    launch_for<factor.value, width.value, masked.value, true>(call, shape);
  });
}

}  // namespace mt::cuda
