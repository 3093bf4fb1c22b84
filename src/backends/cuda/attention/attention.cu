// SPDX-License-Identifier: Apache-2.0
// Attention by the online softmax (Milakov and Gimelshein, 2018, arXiv 1805.02867), queries in the
// outer loop as in FlashAttention-2 (Dao, 2023, arXiv 2307.08691).
//
// Idea: a block takes 64 queries and walks over their keys, a panel of 128 at a time (ops/order.h).
// For each panel it makes the 64 x 128 scores in registers, puts them into shared memory, finds the
// largest of each query so far, makes weights of them, makes what it has summed up as much smaller
// as the largest has grown, and adds the weights' products with the values. The weights of more
// than a panel never exist.
//
// Shapes: 256 threads stand 16 x 16; a thread has 4 queries' scores for 8 keys, and 4 queries' sums
// for 8 of 128 columns of the result, whose further columns other blocks make. Queries and keys
// come to shared memory in slices of 16 components, values in slices of 16 keys.
//
// Limit: 2 (d + e) floating-point operations for each query and key, on fused multiply-adds.
#include "backends/cuda/attention/attention.h"
#include "ops/order.h"

namespace mt::cuda {
namespace {

constexpr int queries = attention_queries, depth = attention_depth;
constexpr int panel = static_cast<int>(attention_panel);
constexpr int threads = 256, parts = threads / queries;

template <class T>
using Block = Tile<T, 16, 4, 16, 8>;
static_assert(Block<float>::rows == queries && Block<float>::columns == panel &&
              panel == attention_columns);

// Where in shared memory lies what.
template <class T>
struct Places {
  static constexpr size_t weights = 0;                                       // [keys][queries]
  static constexpr size_t left = weights + panel * Block<T>::row_bytes;      // [depth][queries]
  static constexpr size_t right = left + depth * Block<T>::row_bytes;        // [depth][128]
  static constexpr size_t factors = right + depth * Block<T>::column_bytes;  // [queries]
  static constexpr size_t end = factors + queries * sizeof(T);
  static constexpr size_t largest = left;  // [parts][queries], between slices
};

template <class T>
class QueryBlock {
 public:
  __device__ QueryBlock(const CallView& call, const AttentionShape& shape, int64_t entry,
                        int64_t first, int64_t column)
      : of_(call, shape, entry, 3), first_(first), column_(column) {}

  __device__ void run(T* out) {
    int64_t end =
        first_ + queries < of_.shape.m && of_.shape.causal ? first_ + queries : of_.shape.m;
    for (int64_t key = 0; key < end; key += panel) {
      int count = end - key < panel ? static_cast<int>(end - key) : panel;
      weigh(key, count);
      add_values(key, count);
    }
    finish(out);
  }

 private:
  using Sums = Block<T>;
  using At = Places<T>;

  __device__ void weigh(int64_t key, int count) {
    Sums scores;
    for (int64_t c = 0; c < of_.shape.d; c += depth) {
      bring_rows<queries, Sums::row_pitch>(At::left, of_.query, first_, c,
                                           [&](int64_t) { return of_.scale; });
      bring_rows<panel, Sums::column_pitch>(At::right, of_.key, key, c,
                                            [](int64_t) { return T(1); });
      __syncthreads();
      int64_t left = of_.shape.d - c;
      scores.multiply(At::left, At::right, left < depth ? static_cast<int>(left) : depth);
      __syncthreads();
    }
    scores.put(At::weights);
    __syncthreads();

    // From here on four threads have a query's keys between them.
    auto weights = shared<T>(At::weights), largest = shared<T>(At::largest);
    auto factors = shared<T>(At::factors);
    const T nothing = identity_of<T>(Reduction::max);
    int query = static_cast<int>(threadIdx.x) % queries,
        part = static_cast<int>(threadIdx.x) / queries;
    T own = nothing;
    for (int j = part; j < count; j += parts) {
      if (first_ + query >= of_.shape.n) break;
      T score = of_.visible(weights[j * Sums::row_pitch + query], first_ + query, key + j);
      weights[j * Sums::row_pitch + query] = score;
      own = score > own ? score : own;
    }
    largest[part * queries + query] = own;
    __syncthreads();
    T before = largest_;
    for (int p = 0; p < parts; ++p) {
      T other = largest[p * queries + query];
      largest_ = other > largest_ ? other : largest_;
    }
    // Nothing is taken off where all is hidden as yet: inf - inf is NaN.
    shift_ = largest_ == nothing ? T(0) : largest_;
    T factor = table::exp_of(before - shift_);
    if (part == 0) factors[query] = factor;
    for (int j = part; j < count; j += parts) {
      T score = weights[j * Sums::row_pitch + query];
      weights[j * Sums::row_pitch + query] = table::exp_of(score - shift_);
    }
    __syncthreads();

    MT_UNROLL for (int i = 0; i < 4; ++i) {
      T of_row = factors[Sums::row(i)];
      MT_UNROLL for (int j = 0; j < 8; ++j) sums_.sums[i][j] = sums_.sums[i][j] * of_row;
    }
    if (part > 0) return;
    total_ = total_ * factor;
    for (int j = 0; j < count; ++j) total_ = total_ + weights[j * Sums::row_pitch + query];
  }

  __device__ void add_values(int64_t key, int count) {
    for (int j = 0; j < count; j += depth) {
      bring_steps<Sums::column_pitch>(At::right, of_.value, key + j, column_,
                                      [](int64_t) { return T(1); });
      __syncthreads();
      sums_.multiply(At::weights + static_cast<size_t>(j) * Sums::row_bytes, At::right,
                     count - j < depth ? count - j : depth);
      __syncthreads();
    }
  }

  // Divides by the totals, and writes the rows and what the gradient needs of them.
  __device__ void finish(T* out) {
    auto totals = shared<T>(At::factors);
    total_ = divisor_of(total_);
    if (threadIdx.x < queries) totals[threadIdx.x] = total_;
    __syncthreads();
    int64_t rows = of_.shape.batch * of_.shape.n, at = of_.entry * of_.shape.n + first_;
    MT_UNROLL for (int i = 0; i < 4; ++i) {
      int row = Sums::row(i);
      if (first_ + row >= of_.shape.n) continue;
      T share = T(1) / totals[row];
      MT_UNROLL for (int j = 0; j < 8; ++j) {
        int64_t column = column_ + Sums::column(j);
        if (column < of_.shape.e)
          store(out, (at + row) * of_.shape.e + column, sums_.sums[i][j] * share);
      }
    }
    int64_t query = threadIdx.x;
    if (column_ > 0 || query >= queries || first_ + query >= of_.shape.n) return;
    store(out, rows * of_.shape.e + at + query, shift_);
    store(out, rows * (of_.shape.e + 1) + at + query, total_);
  }

  const AttentionEntry<T> of_;
  const int64_t first_, column_;
  Sums sums_;
  // Of query threadIdx.x % 64.
  T largest_ = identity_of<T>(Reduction::max), shift_ = 0;
  T total_ = 0;  // where threadIdx.x < 64
};

template <class T>
__global__ void __launch_bounds__(threads, sizeof(T) == 4 ? 2 : 1)
    attention_kernel(const CallView* call, AttentionShape shape, int64_t columns) {
  int64_t blocks = (shape.n + queries - 1) / queries, id = blockIdx.x;
  // The last queries see the most keys where they see only those before them.
  int64_t block = blocks - 1 - id / columns % blocks;
  const CallView& c = view(call);
  QueryBlock<T>(c, shape, id / columns / blocks, block * queries, id % columns * attention_columns)
      .run(reinterpret_cast<T*>(c.output.data));
}

}  // namespace

void launch_attention(const Call& call) {
  AttentionShape shape = attention_shape(call.group);
  if (suits_attention_half(call, shape)) {
    bool hopper = suits_attention_hopper(call, shape);
    return (hopper ? launch_attention_hopper : launch_attention_half)(call, shape);
  }
  int64_t columns = (shape.e + attention_columns - 1) / attention_columns;
  int64_t blocks = shape.batch * ((shape.n + queries - 1) / queries) * columns;
  bool wide = call.group.output.dtype == Dtype::float64;
  launch("attention", wide ? attention_kernel<double> : attention_kernel<float>,
         {static_cast<unsigned>(blocks)}, {threads},
         wide ? Places<double>::end : Places<float>::end, call.stream, call.view, shape, columns);
}

}  // namespace mt::cuda
