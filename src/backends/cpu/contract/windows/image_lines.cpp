// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/contract/windows/image_lines.h"

#include <algorithm>

#include "base/rounding.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/contract/windows/image_lines.cpp"
#include "backends/cpu/elementwise/targets.h"

#include "hwy/foreach_target.h"

#include "backends/cpu/contract/windows/line_ring-inl.h"
#include "backends/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mt::cpu::HWY_NAMESPACE {

constexpr int side = ImageLines::side;

// For each column of a window, the lanes of a vector whose element lies in the image, and what is
// in the others.
template <class D>
struct Edge {
  using T = hn::TFromD<D>;
  static constexpr int64_t lanes = hn::MaxLanes(D());

  // at: where the window of lane 0 begins, in a line of `width` elements.
  Edge(D d, int64_t at, int64_t width, T fill) {
    MT_UNROLL for (int j = 0; j < side; ++j) {
      begin[j] = std::clamp<int64_t>(-at - j, 0, lanes);
      end[j] = std::clamp(width - at - j, begin[j], lanes);
      inside[j] = hn::AndNot(hn::FirstN(d, begin[j]), hn::FirstN(d, end[j]));
      outside[j] = hn::IfThenZeroElse(inside[j], hn::Set(d, fill));
      if (end[j] - begin[j] < lanes) columns |= 1u << j;
    }
  }
  // Reads only the lanes that lie in the image.
  HWY_INLINE hn::Vec<D> load(D d, int j, const T* x) const {
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
    return hn::Or(hn::MaskedLoad(inside[j], d, x), outside[j]);
#else
    HWY_ALIGN T all[lanes];
    hn::Store(outside[j], d, all);
    for (int64_t i = begin[j]; i < end[j]; ++i) all[i] = x[i];
    return hn::Load(d, all);
#endif
  }

  unsigned columns = 0;  // a bit for each of a window's that lies outside of the image in some lane
  int64_t begin[side], end[side];
  hn::Mask<D> inside[side];
  hn::Vec<D> outside[side];
};

// Keeps gcc from reading x from memory for each use.
template <class V>
HWY_INLINE void keep([[maybe_unused]] V& x) {
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
  asm("" : "+v"(x.raw));
#endif
}

// Computes a vector of each of two lines of the result, whose windows begin at from[0] and from[1],
// perhaps at an edge of the image.
template <bool at_edge, class D, class T = hn::TFromD<D>>
HWY_INLINE void two_vectors(D d, const hn::Vec<D> (&weights)[side * side],
                            const T* const (&from)[side + 1], int64_t at, const Edge<D>& edge, T* c,
                            int64_t c_line) {
  hn::Vec<D> first = hn::Zero(d), second = first;
  MT_UNROLL for (int i = 0; i < side + 1; ++i) {
    MT_UNROLL for (int j = 0; j < side; ++j) {
      const T* const place = from[i] + at + j;
      auto x = at_edge && edge.columns >> j & 1 ? edge.load(d, j, place) : hn::LoadU(d, place);
      keep(x);
      if (i < side) first = fused(d, weights[i * side + j], x, first);
      if (i > 0) second = fused(d, weights[(i - 1) * side + j], x, second);
    }
  }
  // If there is only one line, c_line is 0 and the first line overwrites the second.
  hn::StoreU(second, d, c + c_line);
  hn::StoreU(first, d, c);
}

// With as many lanes as a line fills.
template <class D, class T = hn::TFromD<D>>
void run_lines_of(D d, const ImageLinesBlock<T>& block) {
  constexpr int64_t lanes = hn::MaxLanes(D());
  const ImageLines& how = *block.how;
  hn::Vec<D> weights[side * side];
  MT_UNROLL for (int i = 0; i < side * side; ++i) weights[i] = hn::Set(d, block.weights[i]);
  T* const filling = static_cast<T*>(block.scratch);  // a line of padding
  std::fill_n(filling, how.width + side - 1, block.fill);
  const int64_t last = how.width - lanes;
  const int64_t last_inside = how.image_width + how.left - (side - 1) - lanes;
  const Edge<D> edges[] = {{d, -how.left, how.image_width, block.fill},
                           {d, last - how.left, how.image_width, block.fill}};
  const int64_t c_line = block.end - block.begin > 1 ? how.width : 0;
  // The last lines may overlap those before, as may the last vectors.
  for (int64_t begin = block.begin; begin < block.end; begin += 2) {
    const int64_t line = std::max(std::min(begin, block.end - 2), block.begin);
    const T* from[side + 1];
    MT_UNROLL for (int i = 0; i < side + 1; ++i) {
      const int64_t of_image = line + i - how.above;
      const bool outside = of_image < 0 || of_image >= how.image_height;
      from[i] = outside ? filling : block.image + of_image * how.line - how.left;
    }
    T* const c = block.c + (line - block.begin) * how.width;
    two_vectors<true>(d, weights, from, 0, edges[0], c, c_line);
    for (int64_t next = lanes; next < last; next += lanes) {
      const int64_t at = std::min(next, last_inside);
      two_vectors<false>(d, weights, from, at, edges[0], c + at, c_line);
    }
    if (last > 0) two_vectors<true>(d, weights, from, last, edges[1], c + last, c_line);
  }
}

// Where there are no vectors, code is to be small.
constexpr bool has_vectors = HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128;
constexpr int fewest_lanes = 4;

template <class T, int lanes = lanes_of<T>>
void run_in_place(const ImageLinesBlock<T>& block) {
  if constexpr (has_vectors && lanes > fewest_lanes) {
    if (block.how->width < lanes) return run_in_place<T, lanes / 2>(block);
  }
  if constexpr (has_vectors) run_lines_of(hn::CappedTag<T, lanes>(), block);
}
#if HWY_TARGET != HWY_SCALAR
void run_in_order(const ImageLinesBlock<float>& block) {
  constexpr int lanes = lanes_of<float>, half = std::max(lanes / 2, 8);
  if (block.how->width <= half) return LineRing(hn::CappedTag<float, half>(), block).run();
  LineRing(hn::CappedTag<float, lanes>(), block).run();
}
#else
void run_in_order(const ImageLinesBlock<float>&) {}
#endif
void run_float(const ImageLinesBlock<float>& block) {
  block.how->in_place ? run_in_place(block) : run_in_order(block);
}
void run_double(const ImageLinesBlock<double>& block) { run_in_place(block); }
bool runs_here() { return has_vectors; }

}  // namespace mt::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mt::cpu {

// Of lines that are put in order: they stay in the second-level cache.
constexpr size_t most_scratch = 256 * 1024;
// In any line of at least this many columns, vectors between the first and the last one find a
// place within the image.
constexpr int64_t fewest_columns = 6;

HWY_EXPORT(runs_here);
HWY_EXPORT(run_float);
HWY_EXPORT(run_double);

ImageLines find_image_lines(const MatrixOperand& a, const MatrixOperand& b,
                            const EntryParts* made) {
  constexpr int side = ImageLines::side;
  const Axis &rows = b.rows, &k = b.k;
  if (!HWY_DYNAMIC_DISPATCH(runs_here)()) return {};
  if (a.rows.size != 1 || rows.rank != 2 || k.rank != 2 || k.strides[1] != 1) return {};
  const int64_t line = k.strides[0], down = rows.strides[0] / line, right = rows.strides[1];
  if (line < k.sizes[1] || down < 1 || rows.strides[0] != down * line || right < 1) return {};
  ImageLines how{.height = rows.sizes[0],
                 .width = rows.sizes[1],
                 .image_height = (rows.sizes[0] - 1) * down + k.sizes[0],
                 .image_width = (rows.sizes[1] - 1) * right + k.sizes[1],
                 .line = line,
                 .above = 0,
                 .left = 0,
                 .kernel_height = k.sizes[0],
                 .kernel_width = k.sizes[1],
                 .down = down,
                 .right = right,
                 .in_place = false};
  if (k.size > ImageLines::most_terms || how.lines_read() > ImageLines::most_lines) return {};
  const int64_t whole_width = how.image_width;
  if (made != nullptr) {
    const Layout &from = made->from, &to = made->to;
    const int last = from.shape.rank() - 1;
    if (last < 1 || from.strides[last] != 1 || to.strides[last] != 1 ||
        to.strides[last - 1] != line) {
      return {};
    }
    how.image_height = from.shape[last - 1];
    how.image_width = from.shape[last];
    how.line = from.strides[last - 1];
    how.above = to.offset / line;
    how.left = to.offset % line;
    if (element_count(from.shape) != how.image_height * how.image_width) return {};
  }
  // A vector that is neither a line's first nor its last one lies within the image.
  const bool within = how.left < side && whole_width - how.left - how.image_width < side;
  const bool slides = k.sizes[0] == side && k.sizes[1] == side && down == 1 && right == 1;
  how.in_place = slides && within && how.width >= fewest_columns;
  if (how.in_place) return how;
  const bool fits = image_lines_scratch(how, sizeof(float)) <= most_scratch;
  return b.dtype == Dtype::float32 && fits ? how : ImageLines();
}

size_t image_lines_scratch(const ImageLines& how, size_t size) {
  constexpr int64_t lanes = 16;  // at most
  const int64_t in_order =
      how.ring_lines() * round_up(how.right * how.phase_elements(lanes), lanes);
  const int64_t elements = how.in_place ? how.width + ImageLines::side - 1 : in_order;
  return static_cast<size_t>(elements) * size;
}
void run_image_lines(const ImageLinesBlock<float>& block) {
  HWY_DYNAMIC_DISPATCH(run_float)(block);
}
void run_image_lines(const ImageLinesBlock<double>& block) {
  HWY_DYNAMIC_DISPATCH(run_double)(block);
}

}  // namespace mt::cpu
#endif
