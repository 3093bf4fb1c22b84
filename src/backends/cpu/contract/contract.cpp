// SPDX-License-Identifier: Apache-2.0
// A contraction as a whole: chooses the kernel and the tiles, shares them out to the threads, and
// joins the panels of k. Tiles only say who computes what; no value depends on them.
//
// Where sums go: straight to the result; or, where that is of a narrower type, to a tile of scratch
// and from there rounded to the result; or, where k has panels, to one slab [m, n] of scratch for
// each panel, which are then added pairwise.
#include "backends/cpu/contract/contract.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include "backends/cpu/contract/blocked.h"
#include "backends/cpu/contract/exact.h"
#include "backends/cpu/contract/gather.h"
#include "backends/cpu/contract/lanes.h"
#include "backends/cpu/elementwise/tables.h"
#include "ops/order.h"

namespace mt::cpu {
namespace {

constexpr int64_t divide_up(int64_t x, int64_t y) { return (x + y - 1) / y; }
constexpr int64_t round_up(int64_t x, int64_t y) { return divide_up(x, y) * y; }

// Below this much arithmetic a parallel region costs more than it saves.
constexpr int64_t serial_flops = 1000 * 1000;
constexpr int64_t few_columns = 16;               // where a transposed result pays
constexpr int64_t rounded_rows = 480;             // rows of a tile that is rounded afterwards
constexpr int64_t slab_bytes = 16 * 1024 * 1024;  // of all panels' slabs, if one batch entry fits
constexpr double cache_bytes = 32e6;              // a larger result is written past the caches
constexpr int64_t combine_elements = 4096;

// Everything about a contraction that follows from its sizes and types.
struct Shape {
  int64_t batch, m, n, k, panel, panels;
  Dtype sum;  // float32 or float64; else the result's own integer type
  bool exact, lanes;
  // The few columns of a tall result become rows of its transpose: m and n here, a and b in Run.
  bool transposed;
  bool rounded;   // tiles go through scratch: narrower than the sums, or transposed
  bool streamed;  // the result is larger than caches
  int threads;
  int64_t rows, columns;                       // of a tile
  int64_t group;                               // batch entries whose slabs are in scratch together
  size_t slabs, thread_scratch, tile_scratch;  // bytes

  Shape(const Contraction& c, int most_threads);
  int64_t tiles() const { return divide_up(m, rows) * divide_up(n, columns); }
  size_t scratch() const { return slabs + static_cast<size_t>(threads) * thread_scratch; }

 private:
  void choose_tiles();
};

// Whether the rows of a, rather than its k, lie one after the other.
bool rows_are_neighbours(const Contraction& c) {
  const Operand a = operand_a(c, nullptr);
  return a.rows.stride() == 1 && a.k.stride() != 1;
}

Shape::Shape(const Contraction& c, int most_threads) {
  batch = size_of_group(c.batch);
  m = size_of_group(c.m);
  n = size_of_group(c.n);
  k = size_of_group(c.k);
  exact = !is_floating(c.out);
  bool wide = c.a == Dtype::float64 || c.b == Dtype::float64 || c.out == Dtype::float64;
  sum = exact ? c.out : wide ? Dtype::float64 : Dtype::float32;
  ContractionOrder order = contraction_order(m, n, k, c.out);
  panel = exact ? std::max<int64_t>(k, 1) : order.panel;
  panels = divide_up(k, panel);
  lanes = !exact && order.lanes > 1;
  transposed = !exact && !lanes && n <= few_columns && m > 4 * n && rows_are_neighbours(c);
  if (transposed) std::swap(m, n);
  rounded = !exact && panels <= 1 && (sum != c.out || transposed);
  double flops = 2.0 * static_cast<double>(batch) * static_cast<double>(m) *
                 static_cast<double>(n) * static_cast<double>(k);
  threads = flops < serial_flops ? 1 : std::max(most_threads, 1);
  streamed = static_cast<double>(batch) * static_cast<double>(m * n) *
                 static_cast<double>(size_of(c.out)) >
             cache_bytes;
  group = 1;
  slabs = 0;
  if (panels > 1) {
    int64_t entry = panels * m * n * static_cast<int64_t>(size_of(sum));
    group = std::clamp<int64_t>(slab_bytes / std::max<int64_t>(entry, 1), 1, batch);
    slabs = static_cast<size_t>(round_up(group * entry, 64));
  }
  choose_tiles();
  size_t size = size_of(sum);
  size_t kernel = exact ? exact_scratch() : lanes ? lanes_scratch(size) : block_scratch(size);
  tile_scratch = rounded ? static_cast<size_t>(round_up(rows * columns, 64)) * size : 0;
  thread_scratch = static_cast<size_t>(round_up(static_cast<int64_t>(kernel), 64)) + tile_scratch;
}

void Shape::choose_tiles() {
  const int64_t column_unit = sum == Dtype::float64 ? 32 : 64, row_unit = 24;
  rows = std::max<int64_t>(m, 1);
  columns = std::max<int64_t>(n, 1);
  if (lanes) {
    // Only the longer dimension is cut.
    int64_t& many = m >= n ? rows : columns;
    int64_t parts = std::max<int64_t>(1, 4 * threads / std::max<int64_t>(batch * panels, 1));
    if (threads > 1) many = std::max<int64_t>(16, round_up(divide_up(many, parts), 4));
    if (rounded) many = std::min<int64_t>(many, 4096);
    return;
  }
  const int64_t most = most_block_columns(size_of(sum));
  if (columns > most) columns = round_up(divide_up(columns, divide_up(columns, most)), column_unit);
  if (rounded && rows > rounded_rows) rows = rounded_rows;
  if (threads == 1) return;
  auto even = [&] {
    int64_t count = batch * panels * tiles();
    return count >= 4 * threads || (count >= threads && count % threads == 0);
  };
  while (!even() && (rows > row_unit || columns > column_unit)) {
    if (rows > row_unit && rows >= columns / 2) {
      rows = round_up(divide_up(rows, 2), row_unit);
    } else if (columns > column_unit) {
      columns = round_up(divide_up(columns, 2), column_unit);
    } else {
      rows = round_up(divide_up(rows, 2), row_unit);
    }
  }
}

class Run {
 public:
  Run(const Contraction& c, const Shape& shape, const void* a, const void* b, void* out,
      void* scratch, const Epilogue* epilogue)
      : shape_(shape),
        a_(shape.transposed ? operand_b(c, b) : operand_a(c, a)),
        b_(shape.transposed ? operand_a(c, a) : operand_b(c, b)),
        dtype_(c.out),
        out_(static_cast<char*>(out)),
        slabs_(static_cast<char*>(scratch)),
        thread_scratch_(slabs_ + shape.slabs),
        epilogue_(epilogue) {}

  void run() {
    for (first_ = 0; first_ < shape_.batch; first_ += group()) {
      count_ = std::min(group(), shape_.batch - first_);
      share(count_ * std::max<int64_t>(shape_.panels, 1) * shape_.tiles(), &Run::compute);
      if (shape_.panels > 1) share(count_ * combine_tiles(), &Run::combine);
    }
  }

 private:
  int64_t group() const { return shape_.panels > 1 ? shape_.group : shape_.batch; }

  // Calls (this->*work)(item, scratch) for every item; threads take the next one when they are
  // free, so that a slow core holds up the others for one item at most.
  void share(int64_t items, void (Run::*work)(int64_t item, char* scratch)) {
    if (shape_.threads == 1 || items == 1) {
      for (int64_t item = 0; item < items; ++item) (this->*work)(item, thread_scratch_);
      return;
    }
    std::atomic<int64_t> next{0};
    parallel_for(std::min<int64_t>(shape_.threads, items), 1, [&](int64_t begin, int64_t) {
      char* scratch = thread_scratch_ + static_cast<size_t>(begin) * shape_.thread_scratch;
      for (;;) {
        int64_t item = next.fetch_add(1, std::memory_order_relaxed);
        if (item >= items) return;
        (this->*work)(item, scratch);
      }
    });
  }

  void compute(int64_t item, char* scratch) {
    // Neighbouring items share columns, which are the larger part of what is packed.
    const int64_t row_tiles = divide_up(shape_.m, shape_.rows), tiles = shape_.tiles();
    const int64_t entry = item / tiles, panels = std::max<int64_t>(shape_.panels, 1);
    const int64_t panel = entry % panels;
    Tile tile;
    tile.batch = first_ + entry / panels;
    tile.row_begin = item % tiles % row_tiles * shape_.rows;
    tile.row_end = std::min(tile.row_begin + shape_.rows, shape_.m);
    tile.column_begin = item % tiles / row_tiles * shape_.columns;
    tile.column_end = std::min(tile.column_begin + shape_.columns, shape_.n);
    if (shape_.exact) {
      run_exact(a_, b_, dtype_, tile, out_, scratch);
      if (epilogue_ != nullptr) epilogue_->run(epilogue_->context, tile);
    } else if (shape_.sum == Dtype::float64) {
      compute_floating<double>(tile, entry, panel, scratch);
    } else {
      compute_floating<float>(tile, entry, panel, scratch);
    }
  }

  template <class T>
  void compute_floating(const Tile& tile, int64_t entry, int64_t panel, char* scratch) {
    const int64_t n = shape_.n, columns = tile.column_end - tile.column_begin;
    const bool final = shape_.panels <= 1;
    T* c;
    int64_t c_row = n;
    if (shape_.rounded) {
      c = reinterpret_cast<T*>(scratch);
      c_row = columns;
    } else {
      T* matrix = final ? reinterpret_cast<T*>(out_) + tile.batch * shape_.m * n
                        : reinterpret_cast<T*>(slabs_) + entry * shape_.m * n;
      c = matrix + tile.row_begin * n + tile.column_begin;
    }
    const int64_t k_begin = panel * shape_.panel;
    const int64_t k_end = std::min(k_begin + shape_.panel, shape_.k);
    void* kernel_scratch = scratch + shape_.tile_scratch;
    const bool direct = final && !shape_.rounded;
    if (shape_.lanes) {
      run_along_k<T>(tile, k_begin, k_end, c, c_row, kernel_scratch);
      if (direct && epilogue_ != nullptr) epilogue_->run(epilogue_->context, tile);
    } else {
      Block block{&a_,
                  &b_,
                  a_.batch.offset(tile.batch),
                  b_.batch.offset(tile.batch),
                  k_begin,
                  k_end,
                  tile,
                  c,
                  c_row,
                  direct ? epilogue_ : nullptr,
                  direct && shape_.streamed && epilogue_ == nullptr,
                  kernel_scratch};
      run_block(block, T());
    }
    if (!shape_.rounded) return;
    store(tile, c, c_row);
    if (epilogue_ != nullptr) epilogue_->run(epilogue_->context, outward(tile));
  }

  // A tile as the caller sees it.
  Tile outward(const Tile& tile) const {
    if (!shape_.transposed) return tile;
    return {tile.batch, tile.column_begin, tile.column_end, tile.row_begin, tile.row_end};
  }

  // Rounds a tile of sums to the result.
  template <class T>
  void store(const Tile& tile, const T* c, int64_t c_row) {
    const int64_t rows = tile.row_end - tile.row_begin;
    const int64_t columns = tile.column_end - tile.column_begin;
    const int64_t size = static_cast<int64_t>(size_of(dtype_));
    char* out = out_ + tile.batch * shape_.m * shape_.n * size;
    if (!shape_.transposed) {
      for (int64_t i = 0; i < rows; ++i) {
        int64_t to = (tile.row_begin + i) * shape_.n + tile.column_begin;
        store_rounded(dtype_, c + i * c_row, columns, out + to * size);
      }
      return;
    }
    for (int64_t j = 0; j < columns; ++j) {
      T row[few_columns];
      for (int64_t i = 0; i < rows; ++i) row[i] = c[i * c_row + j];
      int64_t to = (tile.column_begin + j) * shape_.m + tile.row_begin;
      store_rounded(dtype_, row, rows, out + to * size);
    }
  }

  template <class T>
  void run_along_k(const Tile& tile, int64_t k_begin, int64_t k_end, T* c, int64_t c_row,
                   void* scratch) {
    const bool by_rows = shape_.m >= shape_.n;
    const Operand &many = by_rows ? a_ : b_, &few = by_rows ? b_ : a_;
    LanesBlock block{&many,
                     &few,
                     many.batch.offset(tile.batch),
                     few.batch.offset(tile.batch),
                     k_begin,
                     k_end,
                     by_rows ? tile.row_begin : tile.column_begin,
                     by_rows ? tile.row_end : tile.column_end,
                     c,
                     by_rows ? c_row : 1,
                     by_rows ? 1 : c_row,
                     scratch};
    run_lanes(block, T());
  }

  // The panels of one batch entry are added over tiles.
  int64_t combine_columns() const { return std::min(shape_.n, combine_elements); }
  int64_t combine_rows() const { return std::max<int64_t>(1, combine_elements / shape_.n); }
  int64_t combine_tiles() const {
    return divide_up(shape_.m, combine_rows()) * divide_up(shape_.n, combine_columns());
  }

  void combine(int64_t item, char*) {
    shape_.sum == Dtype::float64 ? combine_floating<double>(item) : combine_floating<float>(item);
  }

  template <class T>
  void combine_floating(int64_t item) {
    const int64_t tiles = combine_tiles(), row_tiles = divide_up(shape_.m, combine_rows());
    const int64_t entry = item / tiles;
    Tile tile;
    tile.batch = first_ + entry;
    tile.row_begin = item % tiles % row_tiles * combine_rows();
    tile.row_end = std::min(tile.row_begin + combine_rows(), shape_.m);
    tile.column_begin = item % tiles / row_tiles * combine_columns();
    tile.column_end = std::min(tile.column_begin + combine_columns(), shape_.n);
    // Whole rows, or part of one: either way the elements follow each other.
    const int64_t offset = tile.row_begin * shape_.n + tile.column_begin;
    const int64_t end = (tile.row_end - 1) * shape_.n + tile.column_end;
    store(tile, pairwise<T>(entry, 0, shape_.panels, offset, end - offset), shape_.n);
    if (epilogue_ != nullptr) epilogue_->run(epilogue_->context, outward(tile));
  }

  // Adds panels [first, first + panels) of elements [offset, offset + count) into the first of
  // them.
  template <class T>
  T* pairwise(int64_t entry, int64_t first, int64_t panels, int64_t offset, int64_t count) {
    T* left = reinterpret_cast<T*>(slabs_) + (entry * shape_.panels + first) * shape_.m * shape_.n +
              offset;
    if (panels == 1) return left;
    int64_t half = 1;
    while (2 * half < panels) half *= 2;
    pairwise<T>(entry, first, half, offset, count);
    const T* right = pairwise<T>(entry, first + half, panels - half, offset, count);
    for (int64_t i = 0; i < count; ++i) left[i] += right[i];
    return left;
  }

  const Shape& shape_;
  const Operand a_, b_;
  const Dtype dtype_;
  char *const out_, *const slabs_, *const thread_scratch_;
  const Epilogue* const epilogue_;
  int64_t first_ = 0, count_ = 0;  // the batch entries under way
};

}  // namespace

size_t contract_scratch(const Contraction& contraction, int threads) {
  return Shape(contraction, threads).scratch();
}

void contract(const Contraction& contraction, const void* a, const void* b, void* out,
              void* scratch, const Epilogue* epilogue, int threads) {
  const Shape shape(contraction, threads);
  if (shape.batch == 0 || shape.m == 0 || shape.n == 0) return;
  if (shape.k == 0) {
    std::memset(out, 0,
                static_cast<size_t>(shape.batch * shape.m * shape.n) * size_of(contraction.out));
    for (int64_t i = 0; epilogue != nullptr && i < shape.batch; ++i) {
      epilogue->run(epilogue->context, {i, 0, shape.m, 0, shape.n});
    }
    return;
  }
  choose_instruction_set();
  Run(contraction, shape, a, b, out, scratch, epilogue).run();
}

}  // namespace mt::cpu
