// SPDX-License-Identifier: Apache-2.0
// The positions that sort each row. Elements become pairs of a key and a position, whose order is
// total, so every correct way of sorting gives the same result: radix sort in general, a selection
// where few are wanted, and pieces merged in parallel where there is one long row.
#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include "backends/cpu/index/kernels.h"
#include "backends/cpu/index/sort_key.h"
#include "backends/cpu/parallel.h"

namespace mt::cpu {
namespace {

constexpr int64_t radix_from = 256;  // shorter pieces are sorted by comparing
constexpr int64_t piece = 64 << 10;  // the shortest piece of a row that is sorted by itself

template <class Key>
struct Pair {
  Key key;
  Key position;
  bool operator<(const Pair& other) const {
    return key < other.key || (key == other.key && position < other.position);
  }
};

// By the key's bytes from the lowest up, each pass stable; `pairs` come with positions ascending.
template <class Key>
void radix_sort(Pair<Key>* pairs, Pair<Key>* spare, int64_t count) {
  if (count < radix_from) {
    std::sort(pairs, pairs + count);
    return;
  }
  constexpr int bytes = sizeof(Key);
  int64_t histogram[bytes][256] = {};
  for (int64_t i = 0; i < count; ++i) {
    for (int b = 0; b < bytes; ++b) ++histogram[b][pairs[i].key >> (8 * b) & 255];
  }
  Pair<Key>*from = pairs, *to = spare;
  for (int b = 0; b < bytes; ++b) {
    if (histogram[b][from[0].key >> (8 * b) & 255] == count) continue;  // all have this byte
    int64_t start = 0;
    for (int64_t& entry : histogram[b]) start += std::exchange(entry, start);
    for (int64_t i = 0; i < count; ++i) to[histogram[b][from[i].key >> (8 * b) & 255]++] = from[i];
    std::swap(from, to);
  }
  if (from != pairs) std::memcpy(pairs, from, static_cast<size_t>(count) * sizeof(*pairs));
}

// Elements [begin, end) of the merged a and b: first how many of a come before `begin`.
template <class P>
void merge_part(P* out, const P* a, int64_t a_count, const P* b, int64_t b_count, int64_t begin,
                int64_t end) {
  int64_t low = std::max<int64_t>(0, begin - b_count), high = std::min(begin, a_count);
  while (low < high) {
    int64_t middle = (low + high) / 2;
    if (a[middle] < b[begin - middle - 1]) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  int64_t i = low, j = begin - low;
  for (int64_t at = begin; at < end; ++at) {
    out[at] = j >= b_count || (i < a_count && a[i] < b[j]) ? a[i++] : b[j++];
  }
}

// Sorts one long row with all threads; the result is in `pairs` or in `spare`, which is returned.
template <class P>
P* sort_in_pieces(P* pairs, P* spare, int64_t count) {
  int64_t pieces = 1;
  while (pieces < 64 && count / (2 * pieces) >= piece) pieces *= 2;
  auto start = [&](int64_t p) { return count / pieces * p + std::min(p, count % pieces); };
  parallel_for(pieces, 1, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      radix_sort(pairs + start(p), spare + start(p), start(p + 1) - start(p));
    }
  });
  P *from = pairs, *to = spare;
  for (int64_t width = 1; width < pieces; width *= 2) {
    parallel_for(count, piece, [&](int64_t begin, int64_t end) {
      for (int64_t p = 0; p < pieces; p += 2 * width) {
        int64_t first = start(p), middle = start(p + width), last = start(p + 2 * width);
        int64_t low = std::max(begin, first), high = std::min(end, last);
        if (low >= high) continue;
        merge_part(to + first, from + first, middle - first, from + middle, last - middle,
                   low - first, high - first);
      }
    });
    std::swap(from, to);
  }
  return from;
}

template <class Element>
struct Rows {
  using Memory = typename Element::Memory;
  using Key = typename Element::Key;
  const Memory* x;
  int64_t* y;
  int64_t length, kept;
  bool descending;

  Key key(int64_t row, int64_t i) const {
    Key key = Element::key(x[row * length + i]);
    return descending ? static_cast<Key>(~key) : key;
  }

  void fill(Pair<Key>* pairs, int64_t row, int64_t begin, int64_t end) const {
    for (int64_t i = begin; i < end; ++i) pairs[i] = {key(row, i), static_cast<Key>(i)};
  }
  void store(const Pair<Key>* pairs, int64_t row, int64_t begin, int64_t end) const {
    for (int64_t i = begin; i < end; ++i) {
      y[row * kept + i] = static_cast<int64_t>(pairs[i].position);
    }
  }

  void sort_row(Pair<Key>* pairs, Pair<Key>* spare, int64_t row) const {
    fill(pairs, row, 0, length);
    if (kept < length / 8) {
      std::nth_element(pairs, pairs + kept, pairs + length);
      std::sort(pairs, pairs + kept);
    } else {
      radix_sort(pairs, spare, length);
    }
    store(pairs, row, 0, kept);
  }

  // Without working memory: positions are sorted where they will stay, if all are wanted, or the
  // next best is looked for again and again.
  void sort_in_place(int64_t row) const {
    int64_t* out = y + row * kept;
    auto before = [&](int64_t i, int64_t j) {
      Key a = key(row, i), b = key(row, j);
      return a < b || (a == b && i < j);
    };
    if (kept == length) {
      std::iota(out, out + length, int64_t{0});
      std::sort(out, out + length, before);
      return;
    }
    for (int64_t k = 0; k < kept; ++k) {
      int64_t best = -1;
      for (int64_t i = 0; i < length; ++i) {
        if ((k == 0 || before(out[k - 1], i)) && (best < 0 || before(i, best))) best = i;
      }
      out[k] = best;
    }
  }
};

template <class Element>
void argsort(const NaiveCall& call) {
  using Key = typename Element::Key;
  const NaiveArray &x = call.inputs[0], &y = call.output;
  Rows<Element> rows{reinterpret_cast<const typename Element::Memory*>(first_element(x)),
                     reinterpret_cast<int64_t*>(first_element(y)), x.layout.shape.back(),
                     y.layout.shape.back(), call.attributes[0] != 0};
  int64_t count = y.size() / rows.kept, length = rows.length;
  size_t bytes = static_cast<size_t>(length) * sizeof(Pair<Key>);
  bool positions_fit = sizeof(Key) == 8 || length <= int64_t{UINT32_MAX};
  auto allocate = [&] {
    return positions_fit ? static_cast<Pair<Key>*>(std::malloc(2 * bytes)) : nullptr;
  };
  bool few_kept = rows.kept < length / 8;
  if (count == 1 && length >= 2 * piece && !few_kept) {
    if (Pair<Key>* pairs = allocate()) {
      parallel_for(length, piece,
                   [&](int64_t begin, int64_t end) { rows.fill(pairs, 0, begin, end); });
      Pair<Key>* sorted = sort_in_pieces(pairs, pairs + length, length);
      parallel_for(rows.kept, piece,
                   [&](int64_t begin, int64_t end) { rows.store(sorted, 0, begin, end); });
      std::free(pairs);
      return;
    }
  }
  parallel_for(count, grain_of(8 * length), [&](int64_t begin, int64_t end) {
    Pair<Key>* pairs = allocate();
    for (int64_t row = begin; row < end; ++row) {
      pairs ? rows.sort_row(pairs, pairs + length, row) : rows.sort_in_place(row);
    }
    std::free(pairs);
  });
}

}  // namespace

void argsort_kernel(const NaiveCall& call) {
  if (call.output.size() == 0) return;
  if (!is_contiguous(call.inputs[0].layout)) return naive_value(call);
  with_element(call.inputs[0].dtype, [&](auto element) { argsort<decltype(element)>(call); });
}

}  // namespace mt::cpu
