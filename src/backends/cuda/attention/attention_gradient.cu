// SPDX-License-Identifier: Apache-2.0
// The gradient of attention by making its weights again, as FlashAttention-2 does (Dao, 2023, arXiv
// 2307.08691).
//
// Idea: what a query gets is a sum over keys, and what a key and its value get are sums over
// queries. So there is one kernel for both: a block has 64 rows of its own, queries or keys, and
// walks over the others 64 at a time, in ascending order; no two blocks add to the same place. For
// each pair of blocks it makes the scores and the slopes of the weights in registers, then weights
// and the slopes of the scores in shared memory, then adds their products with the other rows. The
// scores are made twice, which costs two products of seven and saves atomics.
//
// Shapes: 256 threads stand 16 x 16; a thread has 4 x 4 scores and slopes, and 4 rows' sums for 8
// of 128 columns of a result, whose further columns other blocks make.
//
// Limit: for each query and key 2 (3 d + 2 e) operations for keys, 2 (2 d + e) for queries, on
// fused multiply-adds.
#include "backends/cuda/attention/attention.h"
#include "base/rounding.h"

namespace mt::cuda {
namespace {

constexpr int side = attention_queries, depth = attention_depth;
constexpr int threads = 256;

template <class T>
using Pairs = Tile<T, 16, 4, 16, 4>;
template <class T>
using Sums = Tile<T, 16, 4, 16, 8>;
static_assert(Pairs<float>::rows == side && Pairs<float>::columns == side &&
              Sums<float>::columns == attention_columns &&
              Pairs<float>::row_pitch == Sums<float>::row_pitch);

// Where in shared memory lies what.
template <class T>
struct Places {
  static constexpr size_t weights = 0;                                    // [others][own]
  static constexpr size_t slopes = weights + side * Pairs<T>::row_bytes;  // [others][own]
  static constexpr size_t left = slopes + side * Pairs<T>::row_bytes;     // [depth][own]
  static constexpr size_t right = left + depth * Pairs<T>::row_bytes;     // [depth][others]
  static constexpr size_t end = left + depth * (Pairs<T>::row_bytes + Pairs<T>::column_bytes);
  // Instead of both slices: [depth][128].
  static_assert(end - left >= depth * Sums<T>::column_bytes);
};

template <class T>
__global__ void __launch_bounds__(threads)
    means_kernel(const CallView* call, AttentionShape shape, T* scratch) {
  int64_t at = int64_t{blockIdx.x} * threads + threadIdx.x, rows = shape.batch * shape.n;
  if (at >= rows) return;
  const CallView& c = view(call);
  AttentionRows<T> own(c, shape, scratch);
  Matrix<T> arrived = matrix_of<T>(view(c.inputs, 3), at / shape.n);
  auto result = reinterpret_cast<const T*>(view(c.inputs, 4).data);
  T share = T(1) / load(own.shifts, rows + at), mean = 0;
  for (int64_t column = 0; column < shape.e; ++column) {
    mean = multiply_add(arrived.at(at % shape.n, column) * share,
                        load(result, at * shape.e + column), mean);
  }
  store(own.shares, at, share);
  store(own.means, at, mean);
}

template <class T, bool of_keys>
class OwnBlock {
 public:
  __device__ OwnBlock(const CallView& call, const AttentionShape& shape, T* scratch, int64_t entry,
                      int64_t first, int64_t column)
      : of_(call, shape, entry, 5),
        arrived_(matrix_of<T>(view(call.inputs, 3), entry)),
        rows_(call, shape, scratch),
        first_(first),
        column_(column) {}

  __device__ void run(T* gradients) {
    // Of causal pairs only those whose key is not after the query.
    int64_t begin = of_keys && of_.shape.causal ? first_ : 0;
    int64_t end = of_keys ? of_.shape.n : of_.shape.m;
    if (!of_keys && of_.shape.causal && first_ + side < end) end = first_ + side;
    for (int64_t other = begin; other < end; other += side) {
      int count = end - other < side ? static_cast<int>(end - other) : side;
      weigh(other);
      if (of_keys) {
        add(Places<T>::weights, arrived_, other, count, by_share(), &value_sums_);
        add(Places<T>::slopes, of_.query, other, count, by_scale(), &sums_);
      } else {
        add(Places<T>::slopes, of_.key, other, count, unchanged(), &sums_);
      }
    }
    int64_t queries = of_.shape.batch * of_.shape.n * of_.shape.d;
    int64_t keys = queries + of_.shape.batch * of_.shape.m * of_.shape.d;
    if (of_keys) {
      write(sums_, T(1), gradients + queries, of_.shape.m, of_.shape.d);
      write(value_sums_, T(1), gradients + keys, of_.shape.m, of_.shape.e);
    } else {
      write(sums_, of_.scale, gradients, of_.shape.n, of_.shape.d);
    }
  }

 private:
  using At = Places<T>;
  static constexpr int row_pitch = Pairs<T>::row_pitch, column_pitch = Pairs<T>::column_pitch;

  __device__ auto unchanged() const {
    return [](int64_t) { return T(1); };
  }
  __device__ auto by_scale() const {
    return [this](int64_t) { return of_.scale; };
  }
  // What arrived is divided by the rows' totals so that weights need not be.
  __device__ auto by_share() const {
    return [this](int64_t query) { return load(rows_.shares, of_.entry * of_.shape.n + query); };
  }

  // Products of queries' and keys' rows, by own and other.
  template <class Factor>
  __device__ void multiply_pairs(const Matrix<T>& of_query, Factor&& factor,
                                 const Matrix<T>& of_key, int64_t other, Pairs<T>* pairs) {
    for (int64_t c = 0; c < of_query.columns; c += depth) {
      if (of_keys) {
        bring_rows<side, row_pitch>(At::left, of_key, first_, c, unchanged());
        bring_rows<side, column_pitch>(At::right, of_query, other, c, factor);
      } else {
        bring_rows<side, row_pitch>(At::left, of_query, first_, c, factor);
        bring_rows<side, column_pitch>(At::right, of_key, other, c, unchanged());
      }
      __syncthreads();
      int64_t left = of_query.columns - c;
      pairs->multiply(At::left, At::right, left < depth ? static_cast<int>(left) : depth);
      __syncthreads();
    }
  }

  // Leaves weights and the slopes of scores in shared memory.
  __device__ void weigh(int64_t other) {
    Pairs<T> scores, slopes;
    multiply_pairs(of_.query, by_scale(), of_.key, other, &scores);
    multiply_pairs(arrived_, by_share(), of_.value, other, &slopes);
    scores.put(At::weights);
    slopes.put(At::slopes);
    __syncthreads();
    auto weights = shared<T>(At::weights), changes = shared<T>(At::slopes);
    for (int i = static_cast<int>(threadIdx.x); i < side * side; i += threads) {
      int row = i % side, column = i / side, at = column * row_pitch + row;
      int64_t query = of_keys ? other + column : first_ + row;
      int64_t key = of_keys ? first_ + row : other + column;
      if (query >= of_.shape.n || key >= of_.shape.m) continue;
      int64_t of_query = of_.entry * of_.shape.n + query;
      T weight = table::exp_of(of_.visible(weights[at], query, key) - load(rows_.shifts, of_query));
      T slope = changes[at];
      weights[at] = weight;
      changes[at] = weight * (slope - load(rows_.means, of_query));
    }
    __syncthreads();
  }

  // sums += x^T rows, for x [others][own] in shared memory and `count` others' rows of a matrix.
  template <class Factor>
  __device__ void add(size_t x, const Matrix<T>& rows, int64_t other, int count, Factor&& factor,
                      Sums<T>* sums) {
    for (int j = 0; j < count; j += depth) {
      bring_steps<Sums<T>::column_pitch>(At::left, rows, other + j, column_, factor);
      __syncthreads();
      sums->multiply(x + static_cast<size_t>(j) * Sums<T>::row_bytes, At::left,
                     count - j < depth ? count - j : depth);
      __syncthreads();
    }
  }

  __device__ void write(const Sums<T>& sums, T factor, T* to, int64_t rows, int64_t columns) {
    MT_UNROLL for (int i = 0; i < 4; ++i) {
      MT_UNROLL for (int j = 0; j < 8; ++j) {
        int64_t row = first_ + Sums<T>::row(i), column = column_ + Sums<T>::column(j);
        if (row >= rows || column >= columns) continue;
        store(to, (of_.entry * rows + row) * columns + column, sums.sums[i][j] * factor);
      }
    }
  }

  const AttentionEntry<T> of_;
  const Matrix<T> arrived_;
  const AttentionRows<T> rows_;
  const int64_t first_, column_;
  Sums<T> sums_, value_sums_;
};

template <class T, bool of_keys>
__global__ void __launch_bounds__(threads, sizeof(T) == 4 ? 2 : 1)
    gradient_kernel(const CallView* call, AttentionShape shape, int64_t columns, T* scratch) {
  int64_t rows = of_keys ? shape.m : shape.n, blocks = (rows + side - 1) / side, id = blockIdx.x;
  // Those that have the most to do come first: the last queries and the first keys.
  int64_t block = id / columns % blocks;
  if (!of_keys) block = blocks - 1 - block;
  const CallView& c = view(call);
  OwnBlock<T, of_keys>(c, shape, scratch, id / columns / blocks, block * side,
                       id % columns * attention_columns)
      .run(reinterpret_cast<T*>(c.output.data));
}

Dim3 blocks(int64_t count) { return {static_cast<unsigned>(count)}; }

template <class T>
void launch_means(const Call& call, const AttentionShape& shape) {
  launch("attention gradient", means_kernel<T>, blocks(divide_up(shape.batch * shape.n, threads)),
         {threads}, 0, call.stream, call.view, shape, reinterpret_cast<T*>(call.scratch));
}
template <class T>
void launch_gradient(const Call& call, const AttentionShape& shape) {
  T* scratch = reinterpret_cast<T*>(call.scratch);
  int64_t columns = divide_up(shape.d, attention_columns);
  int64_t wider = divide_up(shape.d > shape.e ? shape.d : shape.e, attention_columns);
  launch_means<T>(call, shape);
  launch("attention gradient", gradient_kernel<T, false>,
         blocks(shape.batch * divide_up(shape.n, side) * columns), {threads}, Places<T>::end,
         call.stream, call.view, shape, columns, scratch);
  launch("attention gradient", gradient_kernel<T, true>,
         blocks(shape.batch * divide_up(shape.m, side) * wider), {threads}, Places<T>::end,
         call.stream, call.view, shape, wider, scratch);
}

}  // namespace

int64_t attention_gradient_scratch(const CallGroup& group) {
  AttentionShape shape = attention_shape(group);
  return 2 * shape.batch * shape.n * static_cast<int64_t>(size_of(group.output.dtype));
}

void launch_attention_means(const Call& call, const AttentionShape& shape) {
  launch_means<float>(call, shape);
}

void launch_attention_gradient(const Call& call) {
  AttentionShape shape = attention_shape(call.group);
  if (suits_attention_half(call, shape)) {
    bool hopper = suits_attention_hopper(call, shape);
    auto launch_half = hopper ? launch_attention_hopper_gradient : launch_attention_half_gradient;
    return launch_half(call, shape);
  }
  bool wide = call.group.output.dtype == Dtype::float64;
  (wide ? launch_gradient<double> : launch_gradient<float>)(call, shape);
}

}  // namespace mt::cuda
