// SPDX-License-Identifier: Apache-2.0
// Adds rows to those that indices name, each sum in the order of the indices. Wide rows in great
// number are first distributed to lists, each for a few rows of the result that stay in cache while
// one thread adds to them. Otherwise each thread goes through all indices and takes those of its
// own rows.
#include <algorithm>
#include <bit>
#include <cstring>

#include "backends/cpu/index/indices.h"
#include "backends/cpu/index/kernels.h"
#include "backends/cpu/index/listed_rows.h"
#include "backends/cpu/parallel/parallel.h"
#include "base/rounding.h"

namespace mt::cpu {
namespace {

// Whole blocks at a time, which every compiler vectorizes.
template <class T>
void add_blocks(T* __restrict sum, const T* __restrict values, int64_t count) {
  constexpr int64_t block = 64 / sizeof(T);
  int64_t c = 0;
  for (; c + block <= count; c += block) {
    for (int64_t i = 0; i < block; ++i) sum[c + i] = static_cast<T>(sum[c + i] + values[c + i]);
  }
  for (; c < count; ++c) sum[c] = static_cast<T>(sum[c] + values[c]);
}

// Adds a row of values to a row of sums; `inner` are the values' dimensions. `add_vectors` may be
// nullptr.
template <class T>
void add_row(T* sum, const T* values, const Layout& inner, int64_t count, Operator add_vectors) {
  int last = inner.shape.rank() - 1;
  int64_t width = last < 0 ? 1 : inner.shape[last], stride = last < 0 ? 0 : inner.strides[last];
  auto add = [&](const T* from) {
    if (stride == 1 && add_vectors) {
      const Input in[2] = {{sum}, {from}};
      add_vectors(sum, in, 1, width);
    } else if (stride == 1) {
      add_blocks(sum, from, width);
    } else {
      for (int64_t c = 0; c < width; ++c) sum[c] = static_cast<T>(sum[c] + from[c * stride]);
    }
    sum += width;
  };
  if (last <= 0) return add(values);
  Layout rows = dimensions(inner, 0, last);
  Walker walker(rows, 0);
  for (int64_t done = 0; done < count; done += width, walker.next()) {
    add(values + walker.position());
  }
}

// The kernel for vectors pays for rows of some cache lines. Shorter rows take less time than its
// call, and longer ones wait for memory either way.
template <class T>
Operator row_addition(const Layout& inner) {
  const int last = inner.shape.rank() - 1;
  const int64_t bytes = last < 0 ? 0 : inner.shape[last] * static_cast<int64_t>(sizeof(T));
  return bytes >= 3 * cache_line && bytes <= 8 * cache_line ? vector_addition<T>() : nullptr;
}

// The kernel that adds whole lists, if rows are contiguous.
template <class T>
ListedAddition list_addition(const Layout& inner) {
  const int rank = inner.shape.rank();
  if (sizeof(T) < 4 || rank > 1 || (rank == 1 && inner.strides[0] != 1)) return nullptr;
  if (std::is_floating_point_v<T>) {
    return listed_addition(sizeof(T) == 4 ? Compute::f32 : Compute::f64);
  }
  return listed_addition(sizeof(T) == 4 ? Compute::i32 : Compute::i64);
}

// How many rows ahead to prefetch: they come in no order that the hardware could foresee.
constexpr int64_t ahead = 16;

// Always inlined: gcc 12 treats a function that only prefetches as one without effect.
template <class T>
[[gnu::always_inline]] inline void fetch_row(const T* row, int64_t width) {
  constexpr int64_t line = 64 / sizeof(T), most = 8;  // lines; hardware prefetches the rest
  for (int64_t c = 0; c < std::min(width, most * line); c += line) {
    __builtin_prefetch(row + c);
  }
}

// How rows are distributed to `lists`, each of 2^shift rows of the result, by `slices` of indices.
struct Deal {
  int64_t count = 0, rows = 0, lists = 0, slices = 0;
  int shift = 0;
  bool pays() const { return lists > 0; }
  int64_t bytes() const {
    return pays() ? count * static_cast<int64_t>(sizeof(ListedRow)) + slices * lists * 8 : 0;
  }
};

constexpr int64_t sums_in_cache = 256 << 10;  // bytes
constexpr int64_t most_lists = 1024;
// Fewer rows are added faster than they are distributed.
constexpr int64_t fewest_rows = 4096;
// Slices of the indices: one for each thread that may run, each long compared with its lists' ends.
constexpr int64_t most_slices = 64, slice_rows = 1024;

Deal deal_of(int64_t count, int64_t rows, int64_t width, size_t element) {
  constexpr int64_t most = int64_t{1} << 32;
  int64_t row_bytes = width * static_cast<int64_t>(element);
  Deal deal{count, rows};
  if (row_bytes < cache_line || count < fewest_rows || count >= most || rows >= most) return deal;
  if (rows * row_bytes < 2 * sums_in_cache) return deal;
  int64_t together = std::max(sums_in_cache / row_bytes, rows / most_lists + 1);
  deal.shift = std::bit_width(static_cast<uint64_t>(together)) - 1;
  deal.lists = ((rows - 1) >> deal.shift) + 1;
  deal.slices = std::min(most_slices, count / slice_rows);
  return deal;
}

// Writes the entries of all lists, one list after another, each in the order of the indices.
// Returns where each list ends.
int64_t* deal_out(const Deal& deal, const Indices& indices, ListedRow* entries, int64_t* ends) {
  const int shift = deal.shift;
  auto slice = [&](int64_t s) { return deal.count * s / deal.slices; };
  auto each = [&](int64_t s, auto&& take) {
    const Indices own = indices;  // a copy: the compiler sees that no list overlaps it
    const int64_t end = slice(s + 1);
    for (int64_t j = slice(s); j < end; ++j) take(own.row(j), j);
  };
  int64_t grain = std::max<int64_t>(1, deal.slices * elements_grain / deal.count);
  parallel_for(deal.slices, grain, [&](int64_t begin, int64_t end) {
    for (int64_t s = begin; s < end; ++s) {
      int64_t* counts = ends + s * deal.lists;
      std::fill_n(counts, deal.lists, 0);
      each(s, [counts, shift](int64_t row, int64_t) { ++counts[row >> shift]; });
    }
  });
  int64_t total = 0;
  for (int64_t list = 0; list < deal.lists; ++list) {
    for (int64_t s = 0; s < deal.slices; ++s) {
      total += std::exchange(ends[s * deal.lists + list], total);
    }
  }
  parallel_for(deal.slices, grain, [&](int64_t begin, int64_t end) {
    for (int64_t s = begin; s < end; ++s) {
      int64_t* next = ends + s * deal.lists;
      each(s, [=](int64_t row, int64_t j) {
        entries[next[row >> shift]++] = {static_cast<uint32_t>(row), static_cast<uint32_t>(j)};
      });
    }
  });
  return ends + (deal.slices - 1) * deal.lists;
}

template <class T>
struct Scatter {
  const NaiveArray &values, &y;
  int first;
  Indices indices;
  int64_t rows = 1;
  Layout outer, inner;
  int64_t width, count, step, outers;
  const T* from;
  T* to;
  const Operator add = row_addition<T>(inner);

  explicit Scatter(const NaiveCall& call)
      : values(call.inputs[0]),
        y(call.output),
        first(static_cast<int>(call.attributes[0])),
        indices(&call.inputs[1], call.inputs.size() - 1, call.attributes.data() + 1),
        outer(dimensions(values.layout, 0, first)),
        inner(collapse(dimensions(values.layout, first + 1, values.layout.shape.rank()))),
        width(element_count(inner.shape)),
        count(values.layout.shape[first]),
        step(values.layout.strides[first]),
        outers(element_count(outer.shape)),
        from(reinterpret_cast<const T*>(first_element(values))),
        to(reinterpret_cast<T*>(first_element(y))) {
    for (int k = 0; k < indices.count; ++k) rows *= indices.size[k];
  }

  T* sum(int64_t row) const { return to + row * width; }
  void clear(int64_t begin, int64_t end) const {
    std::memset(sum(begin), 0, static_cast<size_t>((end - begin) * width) * sizeof(T));
  }

  void run(void* scratch) const {
    if (y.size() == 0) return;
    Deal deal = deal_of(count, rows, width, sizeof(T));
    deal.pays() ? add_lists(deal, scratch) : add_in_order();
  }

  void add_in_order() const {
    int64_t work = width + values.size() / (outers * rows);
    parallel_shares(outers * rows, grain_of(work), [&](int64_t begin, int64_t end) {
      clear(begin, end);
      Walker walker(outer, begin / rows);
      for (int64_t base = begin / rows * rows; base < end; base += rows, walker.next()) {
        const T* source = from + walker.position();
        if (width == 1) {
          add_elements(base, std::max<int64_t>(begin - base, 0), std::min(end - base, rows),
                       source);
          continue;
        }
        auto mine = [&](int64_t row) { return row >= begin && row < end; };
        for (int64_t j = 0; j < count; ++j) {
          if (int64_t next = j + ahead; next < count) {
            int64_t row = base + indices.row(next);
            if (mine(row)) {
              fetch_row(sum(row), width);
              fetch_row(source + next * step, width);
            }
          }
          int64_t row = base + indices.row(j);
          if (mine(row)) add_row(sum(row), source + j * step, inner, width, add);
        }
      }
    });
  }

  // Rows of one element from `low` to `high`, where every instruction counts.
  void add_elements(int64_t base, int64_t low, int64_t high, const T* source) const {
    T* __restrict sums = to + base + low;
    const auto span = static_cast<uint64_t>(high - low);
    const int64_t most = count, stride = step;
    auto each = [&](auto&& row) {
      for (int64_t j = 0; j < most; ++j) {
        const auto at = static_cast<uint64_t>(row(j) - low);
        if (at < span) sums[at] = static_cast<T>(sums[at] + source[j * stride]);
      }
    };
    const Indices own = indices;  // a copy: the compiler sees that no sum overlaps it
    if (own.count > 1) return each([&](int64_t j) { return own.row(j); });
    const int64_t *data = own.data[0], apart = own.stride[0], size = own.size[0];
    each([=](int64_t j) { return wrapped_index(data[j * apart], size); });
  }

  void add_lists(const Deal& deal, void* scratch) const {
    auto* entries = static_cast<ListedRow*>(scratch);
    const ListedAddition whole = list_addition<T>(inner);
    const int64_t* ends =
        deal_out(deal, indices, entries, reinterpret_cast<int64_t*>(entries + count));
    parallel_items(outers * deal.lists, thread_count(), [&](int64_t item, int) {
      int64_t list = item % deal.lists, base = item / deal.lists * rows;
      clear(base + (list << deal.shift), base + std::min(rows, (list + 1) << deal.shift));
      const T* source = from + Walker(outer, item / deal.lists).position();
      const int64_t begin = list ? ends[list - 1] : 0, end = ends[list];
      if (whole) return whole(sum(base), source, step, width, entries + begin, end - begin);
      for (int64_t e = begin; e < end; ++e) {
        fetch_row(source + entries[std::min(e + ahead, end - 1)].from * step, width);
        add_row(sum(base + entries[e].row), source + entries[e].from * step, inner, width, add);
      }
    });
  }
};

}  // namespace

int64_t scatter_scratch_bytes(int64_t count, int64_t rows, int64_t width, Dtype dtype) {
  return deal_of(count, rows, width, size_of(dtype)).bytes();
}

int64_t scatter_scratch(const CallGroup& group, int) {
  const Layout& values = group.inputs[0].layout;
  int first = static_cast<int>(group.attributes[0]), rank = values.shape.rank();
  int64_t rows = 1;
  for (size_t k = 1; k < group.inputs.size(); ++k) rows *= group.attributes[k];
  return scatter_scratch_bytes(values.shape[first], rows, product(values.shape, first + 1, rank),
                               group.output.dtype);
}

void scatter_kernel(const NaiveCall& call, void* scratch, int) {
  switch (call.output.dtype) {
    case Dtype::float32: return Scatter<float>(call).run(scratch);
    case Dtype::float64: return Scatter<double>(call).run(scratch);
    case Dtype::boolean:
    case Dtype::float16:
    case Dtype::bfloat16: return naive_value(call);
    default:
      with_bits(size_of(call.output.dtype),
                [&](auto zero) { Scatter<decltype(zero)>(call).run(scratch); });
  }
}

void last_writer_kernel(const NaiveCall& call) {
  const NaiveArray& y = call.output;
  Indices indices(call.inputs.data(), call.inputs.size(), y.layout.shape.data());
  int64_t* to = reinterpret_cast<int64_t*>(first_element(y));
  int64_t count = call.inputs[0].size(), rows = y.size();
  if (rows == 0) return;
  parallel_shares(rows, grain_of(1 + count / rows), [&](int64_t begin, int64_t end) {
    std::fill(to + begin, to + end, int64_t{-1});
    for (int64_t j = 0; j < count; ++j) {
      int64_t row = indices.row(j);
      if (row >= begin && row < end) to[row] = j;
    }
  });
}

}  // namespace mt::cpu
