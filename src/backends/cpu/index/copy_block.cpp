// SPDX-License-Identifier: Apache-2.0
// Writes blocks into tensors: joining, padding, and assignment to ranges. All copy contiguous runs
// wherever there are any.
#include <algorithm>
#include <cstring>

#include "backends/cpu/index/fetch_row.h"
#include "backends/cpu/index/kernels.h"
#include "backends/cpu/parallel/parallel.h"
#include "backends/cpu/strided/strided.h"
#include "ops/slice.h"

namespace mt::cpu {
namespace {

// Two layouts of one shape with as few dimensions as possible in both.
struct Pair {
  Shape shape;
  Strides to, from;
};

Pair collapse_together(const Layout& to, const Layout& from) {
  Pair pair;
  for (int d = 0; d < to.shape.rank(); ++d) {
    if (to.shape[d] == 1) continue;
    int last = pair.shape.rank() - 1;
    if (last >= 0 && pair.to[last] == to.strides[d] * to.shape[d] &&
        pair.from[last] == from.strides[d] * to.shape[d]) {
      pair.shape[last] *= to.shape[d];
      pair.to[last] = to.strides[d];
      pair.from[last] = from.strides[d];
      continue;
    }
    pair.shape.push_back(to.shape[d]);
    pair.to.push_back(to.strides[d]);
    pair.from.push_back(from.strides[d]);
  }
  if (pair.shape.empty()) {
    pair.shape.push_back(1);
    pair.to.push_back(1);
    pair.from.push_back(1);
  }
  return pair;
}

template <class T>
void copy_row(T* to, int64_t to_stride, const T* from, int64_t from_stride, int64_t count) {
  if (to_stride == 1 && from_stride == 1) {
    copy_bytes(to, from, static_cast<size_t>(count) * sizeof(T));
  } else if (to_stride == 1 && from_stride == 0) {
    std::fill(to, to + count, *from);
  } else {
    for (int64_t i = 0; i < count; ++i) to[i * to_stride] = from[i * from_stride];
  }
}

// Copies rows that begin `to_step` and `from_step` elements apart.
template <class T>
void copy_rows(T* to, int64_t to_step, int64_t to_stride, const T* from, int64_t from_step,
               int64_t from_stride, int64_t rows, int64_t count) {
  constexpr int64_t size = sizeof(T);
  if (to_stride == 1 && from_stride == 1) {
    return cpu::copy_rows(to, to_step * size, from, from_step * size, rows,
                          static_cast<size_t>(count * size));
  }
  for (; rows > 0; --rows, to += to_step, from += from_step) {
    copy_row(to, to_stride, from, from_stride, count);
  }
}

// Copies between layouts of one shape; both pointers are to the element at the layout's offset.
template <class T>
void copy_elements(T* to, const Layout& to_layout, const T* from, const Layout& from_layout) {
  if (element_count(to_layout.shape) == 0) return;
  Pair pair = collapse_together(to_layout, from_layout);
  int last = pair.shape.rank() - 1;
  int64_t width = pair.shape[last], to_stride = pair.to[last], from_stride = pair.from[last];
  if (last == 0) {
    parallel_for(width, elements_grain, [&](int64_t begin, int64_t end) {
      copy_row(to + begin * to_stride, to_stride, from + begin * from_stride, from_stride,
               end - begin);
    });
    return;
  }
  const int64_t height = pair.shape[last - 1];
  const int64_t to_step = pair.to[last - 1], from_step = pair.from[last - 1];
  Layout to_planes{Shape(pair.shape.data(), last - 1), Strides(pair.to.data(), last - 1), 0};
  Layout from_planes{Shape(pair.shape.data(), last - 1), Strides(pair.from.data(), last - 1), 0};
  const int64_t rows = element_count(to_planes.shape) * height;
  parallel_for(rows, grain_of(width), [&](int64_t begin, int64_t end) {
    Walker target(to_planes, begin / height), source(from_planes, begin / height);
    for (int64_t row = begin; row < end; target.next(), source.next()) {
      const int64_t in_plane = row % height, count = std::min(height - in_plane, end - row);
      copy_rows(to + target.position() + in_plane * to_step, to_step, to_stride,
                from + source.position() + in_plane * from_step, from_step, from_stride, count,
                width);
      row += count;
    }
  });
}

Layout without_offset(Layout layout) {
  layout.offset = 0;
  return layout;
}

template <class T>
void place(const NaiveArray& y, const Layout& part, const NaiveArray& x) {
  copy_elements(static_cast<T*>(y.data) + part.offset, without_offset(part),
                reinterpret_cast<const T*>(first_element(x)), without_offset(x.layout));
}

// How x lies in the rows of y. A row is y's last dimension, together with those before it as long
// as x fills what is inside them; in each row, x is one run of evenly spaced elements.
struct Runs {
  int axis;  // the first dimension of a row
  int64_t row, start, run, step, stride;
};

Runs runs_of(const NaiveArray& y, const NaiveArray& x, const Attributes& block) {
  const Shape& shape = x.layout.shape;
  int last = shape.rank() - 1;
  auto fills = [&](int d) {
    return shape[d] == y.layout.shape[d] && block[2 * static_cast<size_t>(d) + 1] == 1;
  };
  Runs runs{last, y.layout.shape[last], 0, shape[last], 0, x.layout.strides[last]};
  int64_t inner = 1;
  while (runs.axis > 0 && fills(runs.axis) &&
         is_contiguous(dimensions(x.layout, runs.axis - 1, shape.rank())) &&
         block[2 * static_cast<size_t>(runs.axis) - 1] == 1) {
    inner = runs.row;
    --runs.axis;
    runs.run = shape[runs.axis] * inner;
    runs.row = y.layout.shape[runs.axis] * inner;
    runs.stride = 1;
  }
  runs.start = block[2 * static_cast<size_t>(runs.axis)] * inner;
  runs.step = block[2 * static_cast<size_t>(runs.axis) + 1];
  return runs;
}

// The distance to the next plane; a plane is dimension `axis` and those after it.
int64_t to_next_plane(const Layout& layout, int axis) {
  for (int d = axis - 1; d >= 0; --d) {
    if (layout.shape[d] > 1) return layout.strides[d];
  }
  return 0;
}

// Joins two arrays whose elements alternate, as in stack along the last axis, reading both at once:
// as lines of two elements that are as far apart as the arrays. Returns whether it did.
bool take_turns(const NaiveCall& call, int axis) {
  const NaiveArray& y = call.output;
  if (call.inputs.size() != 2 || product(y.layout.shape, axis, y.layout.shape.rank()) != 2) {
    return false;
  }
  const NaiveArray &a = call.inputs[0], &b = call.inputs[1];
  const bool in_order =
      is_contiguous(a.layout) && is_contiguous(b.layout) && is_contiguous(y.layout);
  if (a.size() != b.size() || !in_order) return false;
  const auto size = static_cast<int64_t>(size_of(y.dtype));
  const auto* const from = reinterpret_cast<const char*>(first_element(a));
  const intptr_t apart =
      reinterpret_cast<intptr_t>(first_element(b)) - reinterpret_cast<intptr_t>(from);
  if (apart % size != 0) return false;
  const Layout turns{{a.size(), 2}, {1, apart / size}, 0};
  char* const to = reinterpret_cast<char*>(first_element(y));
  parallel_for(a.size(), elements_grain, [&](int64_t begin, int64_t end) {
    gather_strided(to + 2 * begin * size, from, static_cast<size_t>(size), turns, 2 * begin,
                   2 * (end - begin));
  });
  return true;
}

constexpr int64_t cached_bytes = 16 << 10;

// The index in a block of position `index` along an axis, or -1 if the block has nothing there.
int64_t index_in_block(int64_t index, int64_t start, int64_t step, int64_t size) {
  int64_t offset = index - start;
  int64_t at = offset / step;
  return at * step == offset && at >= 0 && at < size ? at : -1;
}

template <class T>
void fill_elements(T* begin, T* end, T fill) {
  const auto bytes = static_cast<size_t>(end - begin) * sizeof(T);
  if (fill == 0) {
    std::memset(begin, 0, bytes);
    return;
  }
  // Copying what is already filled is faster than a loop.
  constexpr size_t first = 64;
  std::fill(begin, std::min(end, begin + first / sizeof(T)), fill);
  char* const to = reinterpret_cast<char*>(begin);
  for (size_t done = first; done < bytes; done *= 2) {
    copy_bytes(to + done, to, std::min(done, bytes - done));
  }
}

// Rows are lines of planes: what all lines of a plane share is computed once. As many lines as stay
// in the cache are filled and then written to, which is faster than filling only the gaps. Planes
// of y may lie apart.
template <class T>
void embed_rows(const NaiveCall& call, T fill) {
  const NaiveArray &x = call.inputs[0], &y = call.output;
  const Attributes& block = call.attributes;
  const Runs runs = runs_of(y, x, block);
  T* to = reinterpret_cast<T*>(first_element(y));
  const T* from = reinterpret_cast<const T*>(first_element(x));
  // A single row is the one line of a single plane.
  const int axis = runs.axis - 1;
  const size_t i = 2 * static_cast<size_t>(std::max(axis, 0));
  const int64_t lines = axis < 0 ? 1 : y.layout.shape[axis];
  int64_t start = axis < 0 ? 0 : block[i], step = axis < 0 ? 1 : block[i + 1];
  const int64_t size = axis < 0 ? 1 : x.layout.shape[axis];
  int64_t stride = axis < 0 ? 0 : x.layout.strides[axis];
  if (step < 0) {  // the same lines, the last one first
    start += (size - 1) * step;
    from += (size - 1) * stride;
    step = -step;
    stride = -stride;
  }
  const int64_t further = runs.stride == 1 ? to_next_plane(x.layout, axis) : 0;
  constexpr int64_t cached = cached_bytes / sizeof(T);
  const int64_t together = std::max<int64_t>(cached / runs.row, 1);
  const int outer = std::max(axis, 0);
  const Layout planes{Shape(y.layout.shape.data(), outer), Strides(y.layout.strides.data(), outer),
                      0};
  parallel_for(y.size() / runs.row, grain_of(runs.row), [&](int64_t begin, int64_t end) {
    Walker walker(planes, begin / lines);
    for (int64_t row = begin; row < end; walker.next()) {
      int64_t line = row % lines;
      const int64_t end_line = std::min(lines, line + end - row);
      T* target = to + walker.position() + line * runs.row;
      row += end_line - line;
      int64_t position = 0;
      bool inside = x.size() > 0;
      for (int d = 0; d < axis; ++d) {
        size_t j = 2 * static_cast<size_t>(d);
        int64_t at = index_in_block(walker.index(d), block[j], block[j + 1], x.layout.shape[d]);
        inside &= at >= 0;
        position += at * x.layout.strides[d];
      }
      while (line < end_line) {
        const int64_t below = std::min(line + together, end_line);
        T* const end = target + (below - line) * runs.row;
        // Of these lines, those at the block's indices [at, past) have a run.
        const int64_t at = std::max<int64_t>(divide_up(line - start, step), 0);
        const int64_t past = inside ? std::min(divide_up(below - start, step), size) : 0;
        T* const run = target + (start + at * step - line) * runs.row + runs.start;
        if (at >= past || together > 1 || runs.step != 1) {
          fill_elements(target, end, fill);
        } else {
          fill_elements(target, run, fill);
          fill_elements(run + runs.run, end, fill);
        }
        const T* const run_from = from + position + at * stride;
        // Where planes lie apart, the hardware does not prefetch the next one.
        for (int64_t l = at; further != 0 && l < past; ++l) {
          const intptr_t ahead = (further + (l - at) * stride) * int64_t{sizeof(T)};
          fetch_row(reinterpret_cast<const void*>(reinterpret_cast<intptr_t>(run_from) + ahead),
                    runs.run * int64_t{sizeof(T)});
        }
        if (at < past) {
          copy_rows(run, step * runs.row, runs.step, run_from, stride, runs.stride, past - at,
                    runs.run);
        }
        target = end;
        line = below;
      }
    }
  });
}

}  // namespace

void concat_kernel(const NaiveCall& call) {
  int axis = static_cast<int>(call.attributes[0]);
  if (take_turns(call, axis)) return;
  int64_t start = 0;
  for (const NaiveArray& x : call.inputs) {
    int64_t length = x.layout.shape[axis];
    Layout part = slice(call.output.layout, axis, start, length, 1);
    with_bits(size_of(x.dtype), [&](auto zero) { place<decltype(zero)>(call.output, part, x); });
    start += length;
  }
}

void pad_kernel(const NaiveCall& call) {
  const NaiveArray &x = call.inputs[0], &y = call.output;
  if (y.size() == 0) return;
  // The fill's bits in y's type, by way of a one-element array.
  uint64_t bits = 0;
  fill({&bits, y.dtype, {}}, call.immediates);
  with_bits(size_of(y.dtype), [&](auto zero) {
    using T = decltype(zero);
    T value;
    std::memcpy(&value, &bits, sizeof(T));
    if (y.layout.shape.rank() > 0) return embed_rows<T>(call, value);
    *reinterpret_cast<T*>(first_element(y)) = *reinterpret_cast<const T*>(first_element(x));
  });
}

void begin_as_first(const NaiveCall& call) {
  const NaiveArray &x = call.inputs[0], &y = call.output;
  if (first_element(x) == first_element(y)) return;
  with_bits(size_of(y.dtype), [&](auto zero) { place<decltype(zero)>(y, y.layout, x); });
}

void overlay_kernel(const NaiveCall& call) {
  const NaiveArray &value = call.inputs[1], &y = call.output;
  begin_as_first(call);
  with_bits(size_of(y.dtype), [&](auto zero) {
    if (value.size() == 0) return;
    place<decltype(zero)>(
        y, overlaid_block(y.layout, value.layout.shape, call.attributes, call.immediates), value);
  });
}

}  // namespace mt::cpu
