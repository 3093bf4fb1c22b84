// SPDX-License-Identifier: Apache-2.0
// Finds where each line's extreme is. A contiguous line is searched block by block: first for the
// block's extreme, in vectors, then for its first place; a single long one is cut into panels.
// Lines that lie side by side are searched together, row by row.
#include <algorithm>
#include <limits>
#include <type_traits>

#include "backends/cpu/index/argmax_rows.h"
#include "backends/cpu/index/kernels.h"
#include "backends/cpu/parallel/parallel.h"
#include "backends/cpu/sort/sort_key.h"
#include "backends/cpu/strided/strided.h"
#include "base/rounding.h"

namespace mt::cpu {
namespace {

constexpr int64_t block = 1024;  // searched again while it is in cache
constexpr int64_t few = 16;      // elements that are compared one by one
constexpr int64_t most_panels = 256;
constexpr int64_t most_width = 256;  // lines that are taken together
constexpr int64_t longest_turned = 128, fewest_turned = 16, most_turned = 4096;
constexpr int64_t most_parts = 1024;  // lines, times the panels that each is cut into

// The key whose largest value is wanted. A NaN has the largest key; for the smallest element, keys
// are reversed and decremented, so that a NaN's 0 becomes the largest again.
template <class Element, bool largest>
typename Element::Key wanted(typename Element::Memory x) {
  using Key = typename Element::Key;
  Key key = Element::key(x);
  if constexpr (largest) return key;
  if constexpr (!requires { Element::infinite; }) return static_cast<Key>(~key);
  constexpr Key nan = static_cast<Key>(static_cast<typename Element::Memory>(-1));
  return static_cast<Key>(nan - key - 1);
}

struct Best {
  uint64_t key;
  int64_t place;
};

// The element types that have a vector reduction.
template <class Element>
constexpr bool has_vectors =
    std::is_same_v<Element, FloatElement> || std::is_same_v<Element, DoubleElement> ||
    std::is_same_v<Element, IntegerElement<int32_t>> ||
    std::is_same_v<Element, IntegerElement<int64_t>>;

template <class Element, bool largest>
typename Element::Key best_key(const typename Element::Memory* x, int64_t count, Dtype dtype) {
  using Key = typename Element::Key;
  if constexpr (has_vectors<Element>) {
    static const Operator reduce =
        row_reduction(largest ? Reduction::max : Reduction::min, compute_of(dtype));
    typename Element::Memory extreme;
    const Input row{x};
    reduce(&extreme, &row, 1, count);
    return wanted<Element, largest>(extreme);
  } else {
    Key key = 0;
    for (int64_t i = 0; i < count; ++i) key = std::max(key, wanted<Element, largest>(x[i]));
    return key;
  }
}

// The best of elements [begin, end) of a line.
template <class Element, bool largest>
Best best_of(const void* line, int64_t begin, int64_t end, Dtype dtype) {
  using Key = typename Element::Key;
  const auto* x = static_cast<const typename Element::Memory*>(line);
  Key best = wanted<Element, largest>(x[begin]);
  int64_t place = begin;
  if (end - begin <= few) {
    for (int64_t i = begin + 1; i < end; ++i) {
      const Key key = wanted<Element, largest>(x[i]);
      const bool better = key > best;
      best = better ? key : best;
      place = better ? i : place;
    }
    return {best, place};
  }
  for (int64_t at = begin; at < end; at += block) {
    const Key key = best_key<Element, largest>(x + at, std::min(end - at, block), dtype);
    if (key <= best) continue;
    best = key;
    place = at;
    while (wanted<Element, largest>(x[place]) != key) ++place;
  }
  return {best, place};
}

// `width` lines next to each other, of which elements [begin, end) lie `stride` apart.
struct Columns {
  const void* data;
  int64_t begin, end, stride, width;
  Dtype dtype;
};

// The kernel that compares row by row; nullptr if there is none.
template <class Element, bool largest>
ArgmaxRows kernel_of_rows(Dtype dtype) {
  if constexpr (!has_vectors<Element>) return nullptr;
  static const ArgmaxRows kernel = argmax_rows(largest, compute_of(dtype));
  return kernel;
}

// Uses the kernel of rows; returns false if there is none. Writes each column's place, and its key
// if `keys` are asked for.
template <class Element, bool largest>
bool follow_rows(const Columns& of, int64_t* places, uint64_t* keys) {
  using Memory = typename Element::Memory;
  using Key = typename Element::Key;
  using Place = std::conditional_t<sizeof(Memory) == 8, int64_t, int32_t>;
  const ArgmaxRows rows = kernel_of_rows<Element, largest>(of.dtype);
  const int64_t count = of.end - of.begin, width = of.width;
  if (!rows || count > std::numeric_limits<Place>::max()) return false;
  const Memory* x = static_cast<const Memory*>(of.data) + of.begin * of.stride;
  // Adjacent rows are taken as fewer rows of several times the width.
  const int64_t folds = of.stride == width ? std::min(most_width / width, count / 8) : 1;
  const int64_t fold = std::max<int64_t>(1, folds), full = count / fold, rest = count % fold;
  Memory extremes[most_width];
  Place found[most_width];
  rows(x, fold * of.stride, 0, full, fold * width, extremes, found);
  if (rest > 0) rows(x, fold * of.stride, full, full + 1, rest * width, extremes, found);
  for (int64_t c = 0; c < width; ++c) {
    places[c] = of.begin + found[c] * fold;
    if (fold == 1 && !keys) continue;
    Key best = wanted<Element, largest>(extremes[c]);
    for (int64_t r = 1; r < fold; ++r) {
      const Key key = wanted<Element, largest>(extremes[r * width + c]);
      const int64_t place = of.begin + found[r * width + c] * fold + r;
      if (key < best || (key == best && place > places[c])) continue;
      best = key;
      places[c] = place;
    }
    if (keys) keys[c] = best;
  }
  return true;
}

template <class Element, bool largest>
void best_of_columns(const Columns& of, int64_t* places, uint64_t* keys) {
  using Key = typename Element::Key;
  if (follow_rows<Element, largest>(of, places, keys)) return;
  const auto* row = static_cast<const typename Element::Memory*>(of.data) + of.begin * of.stride;
  Key best[most_width];
  for (int64_t c = 0; c < of.width; ++c) best[c] = wanted<Element, largest>(row[c]);
  std::fill(places, places + of.width, of.begin);
  for (int64_t i = of.begin + 1; i < of.end; ++i) {
    row += of.stride;
    for (int64_t c = 0; c < of.width; ++c) {
      const Key key = wanted<Element, largest>(row[c]);
      const bool better = key > best[c];
      best[c] = better ? key : best[c];
      places[c] = better ? i : places[c];
    }
  }
  if (keys) std::copy(best, best + of.width, keys);
}

// Lines one after another. Short ones are transposed, to be searched side by side.
template <class Element, bool largest>
void best_of_lines(const void* data, int64_t lines, int64_t length, Dtype dtype, int64_t* places) {
  using Memory = typename Element::Memory;
  const auto* line = static_cast<const Memory*>(data);
  const bool turns = length <= longest_turned && kernel_of_rows<Element, largest>(dtype);
  Memory turned[most_turned];
  while (turns && lines >= fewest_turned) {
    const int64_t some = std::min({lines, most_width, most_turned / length});
    const Layout across{{length, some}, {1, length}, 0};
    gather_strided(turned, line, sizeof(Memory), across, 0, length * some);
    best_of_columns<Element, largest>({turned, 0, length, some, some, dtype}, places, nullptr);
    line += some * length, lines -= some, places += some;
  }
  for (; lines > 0; --lines, line += length) {
    *places++ = best_of<Element, largest>(line, 0, length, dtype).place;
  }
}

// The functions that search lines of one type.
struct Search {
  Best (*line)(const void* line, int64_t begin, int64_t end, Dtype dtype);
  void (*lines)(const void* data, int64_t lines, int64_t length, Dtype dtype, int64_t* places);
  void (*columns)(const Columns& of, int64_t* places, uint64_t* keys);
};

// Lines that lie side by side: x is [outer, length, inner].
void search_columns(const Search& search, const char* x, int64_t outer, int64_t length,
                    int64_t inner, Dtype dtype, int64_t* to) {
  const int64_t lines = outer * inner, size = static_cast<int64_t>(size_of(dtype));
  const int64_t stretches = divide_up(inner, most_width), tasks = outer * stretches;
  int64_t panels = 1;
  if (tasks < thread_count() && lines <= most_parts) {
    panels = std::clamp<int64_t>(length * inner / elements_grain, 1, most_parts / lines);
  }
  int64_t places[most_parts];
  uint64_t keys[most_parts];
  const int64_t work = divide_up(length, panels) * std::min(inner, most_width);
  parallel_for(tasks * panels, grain_of(work), [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      const int64_t p = task % panels, o = task / panels / stretches;
      const int64_t column = task / panels % stretches * most_width, line = o * inner + column;
      const Columns of{x + (o * length * inner + column) * size,
                       length * p / panels,
                       length * (p + 1) / panels,
                       inner,
                       std::min(most_width, inner - column),
                       dtype};
      if (panels == 1) {
        search.columns(of, to + line, nullptr);
      } else {
        search.columns(of, places + p * lines + line, keys + p * lines + line);
      }
    }
  });
  for (int64_t line = 0; panels > 1 && line < lines; ++line) {
    int64_t best = line;
    for (int64_t part = line + lines; part < panels * lines; part += lines) {
      if (keys[part] > keys[best]) best = part;
    }
    to[line] = places[best];
  }
}

// One line, by all threads.
int64_t search_line(const Search& search, const char* x, int64_t length, Dtype dtype) {
  const int64_t panels = std::clamp<int64_t>(length / elements_grain, 1, most_panels);
  Best best[most_panels];
  parallel_for(panels, 1, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      best[p] = search.line(x, length * p / panels, length * (p + 1) / panels, dtype);
    }
  });
  for (int64_t p = 1; p < panels; ++p) {
    if (best[p].key > best[0].key) best[0] = best[p];
  }
  return best[0].place;
}

void extreme(const NaiveCall& call, const Search& search) {
  const NaiveArray &x = call.inputs[0], &y = call.output;
  const char* from = first_element(x);
  int64_t* to = reinterpret_cast<int64_t*>(first_element(y));
  const int64_t length = x.layout.shape[1], inner = x.layout.shape[2], lines = y.size();
  if (inner > 1) return search_columns(search, from, lines / inner, length, inner, x.dtype, to);
  if (lines == 1) {
    to[0] = search_line(search, from, length, x.dtype);
    return;
  }
  const int64_t bytes = length * static_cast<int64_t>(size_of(x.dtype));
  parallel_for(lines, grain_of(length), [&](int64_t begin, int64_t end) {
    search.lines(from + begin * bytes, end - begin, length, x.dtype, to + begin);
  });
}

template <bool largest>
void run(const NaiveCall& call) {
  if (call.output.size() == 0) return;
  if (!is_contiguous(call.inputs[0].layout)) return naive_value(call);
  with_element(call.inputs[0].dtype, [&]<class Element>(Element) {
    extreme(call, {best_of<Element, largest>, best_of_lines<Element, largest>,
                   best_of_columns<Element, largest>});
  });
}

}  // namespace

void argmax_kernel(const NaiveCall& call) { run<true>(call); }
void argmin_kernel(const NaiveCall& call) { run<false>(call); }

}  // namespace mt::cpu
