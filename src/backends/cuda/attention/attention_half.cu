// SPDX-License-Identifier: Apache-2.0
// Attention of 16-bit floats on the tensor cores: FlashAttention-2 (Dao, 2023, arXiv 2307.08691).
//
// Idea: as in attention.cu, but scores, weights and sums stay in registers from beginning to end. A
// warp has whole queries, so that the largest score and the sum of a query are a matter of four
// lanes. What a lane holds of the scores is, once it has been made weights and rounded to 16 bits,
// just what it has to hold for the product with the values. While scores are made the values come
// to shared memory, and while these are summed up the next keys.
//
// Shapes: a block takes 128 queries, each of its 4 warps 32, and 64 keys at a time. Queries, keys
// and values are up to 128 numbers long, in rows of vectors of 8, and the results are computed as
// if they were 64 or 128 long; where it is 128 the keys are 32, as else a lane's sums and scores
// would not find room in its registers. What does not suit goes to attention.cu.
//
// Limit: the tensor cores, as far as mma reaches them; for a pair of fragments that is fetched of
// the keys or the values there are 4 multiplied. Beside them a power for each score.
#include "backends/cuda/attention/attention_half.h"

namespace mt::cuda {
namespace {

constexpr int rows = 2;  // of fragments, of a warp
constexpr int own_queries = 16 * rows, queries = half_warps * own_queries;

template <Factor factor, int width, bool masked>
class QueryBlock {
 public:
  static constexpr int keys = width == 64 ? 64 : 32;
  using Rows = HalfRows<factor, width>;
  // Where in shared memory lies what.
  static constexpr size_t at_query = 0, at_key = queries * Rows::row_bytes,
                          at_value = at_key + keys * Rows::row_bytes,
                          bytes = at_value + keys * Rows::row_bytes;

  __device__ QueryBlock(const CallView& call, const AttentionShape& shape, int64_t entry, int first)
      : of_(call, shape, entry, 3),
        first_(first),
        own_row_(static_cast<int>(threadIdx.x) / 32 * own_queries) {}

  __device__ void run(float* out) {
    const AttentionShape& shape = of_.shape;
    int end = static_cast<int>(shape.m);
    if (shape.causal && first_ + queries < end) end = first_ + queries;
    Rows::template fetch<queries>(at_query, of_.query, first_);
    Rows::template fetch<keys>(at_key, of_.key, 0);
    commit_copies();
    for (int key = 0; key < end; key += keys) {
      wait_for_copies<0>();
      __syncthreads();  // the keys are there, and nobody needs the values before them any more
      Rows::template fetch<keys>(at_value, of_.value, key);
      commit_copies();
      uint32_t weights[keys / 16][rows][4];
      weigh(key, weights);
      wait_for_copies<0>();
      __syncthreads();  // the values are there, and nobody needs the keys any more
      if (key + keys < end) Rows::template fetch<keys>(at_key, of_.key, key + keys);
      commit_copies();
      Rows::add_weighted(sums_, weights, at_value);
    }
    finish(out);
  }

 private:
  static constexpr float nothing = -INFINITY;

  __device__ void weigh(int key, uint32_t (&weights)[keys / 16][rows][4]) {
    float scores[rows][keys / 8][4] = {};
    Rows::multiply(scores, at_query, own_row_, at_key, of_.shape.d);
    const int own = first_ + own_row_, end = key + keys;
    const bool all_seen = !masked && end <= of_.shape.m && (!of_.shape.causal || end <= own + 1);
    const float scale = of_.scale;
    MT_UNROLL for (int i = 0; i < rows; ++i) {
      MT_UNROLL for (int j = 0; j < keys / 8; ++j) {
        MT_UNROLL for (int r = 0; r < 4; ++r) scores[i][j][r] *= scale;
      }
    }
    if (!all_seen) hide(scores, own, key);
    MT_UNROLL for (int i = 0; i < rows; ++i) {
      MT_UNROLL for (int half = 0; half < 2; ++half) {
        float before = largest_[i][half], most = before;
        MT_UNROLL for (int j = 0; j < keys / 8; ++j) {
          MT_UNROLL for (int r = 2 * half; r < 2 * half + 2; ++r) {
            float score = scores[i][j][r];
            most = score > most ? score : most;
          }
        }
        most = of_four_lanes(most, [](float a, float b) { return a > b ? a : b; });
        // Nothing is taken off where all is hidden as yet: inf - inf is NaN.
        float shift = most == nothing ? 0.0f : most;
        float factor_before = exp_from(before, shift), total = total_[i][half] * factor_before;
        MT_UNROLL for (int j = 0; j < keys / 8; ++j) {
          MT_UNROLL for (int r = 2 * half; r < 2 * half + 2; ++r) {
            float weight = exp_from(scores[i][j][r], shift);
            scores[i][j][r] = weight;
            total += weight;
          }
        }
        largest_[i][half] = most;
        total_[i][half] = total;
        MT_UNROLL for (int j = 0; j < width / 8; ++j) {
          sums_[i][j][2 * half] *= factor_before;
          sums_[i][j][2 * half + 1] *= factor_before;
        }
      }
    }
    Rows::round(weights, scores);
  }

  __device__ void hide(float (&scores)[rows][keys / 8][4], int query, int key) const {
    MT_UNROLL for (int i = 0; i < rows; ++i) {
      MT_UNROLL for (int r = 0; r < 4; ++r) {
        MT_UNROLL for (int j = 0; j < keys / 8; ++j) {
          scores[i][j][r] = seen<masked>(of_, scores[i][j][r], query + fragment_row(i, r),
                                         key + fragment_column(j, r));
        }
      }
    }
  }

  // Divides by the totals, and writes the rows and what the gradient needs of them.
  __device__ void finish(float* out) {
    const AttentionShape& shape = of_.shape;
    const int64_t all = shape.batch * shape.n, before = of_.entry * shape.n;
    MT_UNROLL for (int i = 0; i < rows; ++i) {
      MT_UNROLL for (int half = 0; half < 2; ++half) {
        float& total = total_[i][half];
        total = divisor_of(of_four_lanes(total, [](float a, float b) { return a + b; }));
        int query = first_ + own_row_ + fragment_row(i, 2 * half);
        if (query >= shape.n || threadIdx.x % 4 != 0) continue;
        float most = largest_[i][half];
        store(out, all * shape.e + before + query, most == nothing ? 0.0f : most);
        store(out, all * (shape.e + 1) + before + query, total);
      }
    }
    store_fragments(sums_, out, shape.e, before + first_ + own_row_, before + shape.n,
                    [&](int i, int half) { return 1 / total_[i][half]; });
  }

  const AttentionEntry<float, uint16_t> of_;
  const int first_, own_row_;  // of the call's and the block's queries
  float sums_[rows][width / 8][4] = {};
  float largest_[rows][2] = {{nothing, nothing}, {nothing, nothing}};
  float total_[rows][2] = {};  // of the lane's own keys
};

template <Factor factor, int width, bool masked>
__global__ void __launch_bounds__(half_threads, 2)
    half_kernel(const CallView* call, AttentionShape shape) {
  int64_t blocks = (shape.n + queries - 1) / queries, id = blockIdx.x;
  // The last queries see the most keys where they see only those before them.
  int64_t block = blocks - 1 - id % blocks;
  const CallView& c = view(call);
  QueryBlock<factor, width, masked>(c, shape, id / blocks, static_cast<int>(block) * queries)
      .run(reinterpret_cast<float*>(c.output.data));
}

}  // namespace

bool suits_attention_half(const Call& call, const AttentionShape& shape) {
  constexpr int64_t vector = 8, most = 128;
  auto in_vectors = [](int64_t number) { return number % vector == 0; };
  const std::vector<Operand>& inputs = call.group.inputs;
  if (!is_half(inputs[0].dtype) || shape.d > most || shape.e > most) return false;
  if (shape.n > most_half_rows || shape.m > most_half_rows) return false;
  const bool of_gradient = inputs.size() > 4;
  for (size_t i = 0; i < (of_gradient ? 4u : 3u); ++i) {
    const Layout& layout = inputs[i].layout;
    const int last = layout.shape.rank() - 1;
    if (inputs[i].dtype != inputs[0].dtype || layout.strides[last] != 1) return false;
    if (!in_vectors(layout.shape[last]) || !in_vectors(layout.offset)) return false;
    for (int d = 0; d < last; ++d) {
      if (layout.shape[d] > 1 && !in_vectors(layout.strides[d])) return false;
    }
    // A leaf may begin anywhere.
    if (reinterpret_cast<uintptr_t>(call.buffers[inputs[i].buffer]) % sizeof(Vector)) return false;
  }
  return true;
}

void launch_attention_half(const Call& call, const AttentionShape& shape) {
  int64_t blocks = shape.batch * ((shape.n + queries - 1) / queries);
  bool masks = call.group.inputs.size() > 3;
  with_half_types(call, shape, masks, [&](auto factor, auto width, auto masked) {
    launch("attention half", half_kernel<factor.value, width.value, masked.value>,
           {static_cast<unsigned>(blocks)}, {half_threads},
           QueryBlock<factor.value, width.value, masked.value>::bytes, call.stream, call.view,
           shape);
  });
}

}  // namespace mt::cuda
