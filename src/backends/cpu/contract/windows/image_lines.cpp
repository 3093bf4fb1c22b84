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

// Where in its line a vector of the result lies.
enum class Place : uint8_t { inside, edge, whole_line };

// Computes a vector of each of L lines of the result, whose windows begin at from[0] to from[L -
// 1], and stores the first `lines` of them. Lanes beyond a line that is shorter than the vector are
// stored as well, where the next line overwrites them, unless the last line has a `mask`. The last
// weight is in memory, since with four lines registers are too few.
template <int L, Place in_line, class D, class T = hn::TFromD<D>>
HWY_INLINE void line_vectors(D d, const hn::Vec<D> (&weights)[side * side - 1],
                             const T* last_weight, const T* const (&from)[L + side - 1], int64_t at,
                             const Edge<D>& edge, const ImageLines& how, int64_t lines, T* c,
                             const hn::Mask<D>* mask = nullptr) {
  forget(last_weight);
  hn::Vec<D> sums[L];
  MT_UNROLL for (int l = 0; l < L; ++l) sums[l] = hn::Zero(d);
  MT_UNROLL for (int i = 0; i < L + side - 1; ++i) {
    MT_UNROLL for (int j = 0; j < side; ++j) {
      const T* const place = from[i] + at + j;
      const bool masked =
          in_line == Place::whole_line || (in_line == Place::edge && edge.columns >> j & 1);
      auto x = masked ? edge.load(d, j, place) : hn::LoadU(d, place);
      keep(x);
      MT_UNROLL for (int l = 0; l < L; ++l) {
        if (l <= i && i < l + side) {
          const int at_weight = (i - l) * side + j;
          const auto weight =
              at_weight < side * side - 1 ? weights[at_weight] : hn::Load(d, last_weight);
          sums[l] = fused(d, weight, x, sums[l]);
        }
      }
    }
  }
  MT_UNROLL for (int l = 0; l < L; ++l, c += how.width) {
    if (l == lines) return;
    if (in_line == Place::whole_line && mask && l == lines - 1) {
      return store_part(sums[l], d, *mask, c);
    }
    hn::StoreU(sums[l], d, c);
  }
}

// L lines at a time, with as many lanes as a line fills. `shorter`: than the vector.
template <int L, bool shorter, class D, class T = hn::TFromD<D>>
void run_lines_of(D d, const ImageLinesBlock<T>& block) {
  constexpr int64_t lanes = hn::MaxLanes(D());
  const ImageLines& how = *block.how;
  T* const filling = static_cast<T*>(block.scratch);  // a line of padding
  std::fill_n(filling, how.width + side - 1, block.fill);
  const int64_t last = std::max<int64_t>(how.width - lanes, 0);
  const int64_t last_inside = how.image_width + how.left - (side - 1) - lanes;
  const Edge<D> edges[] = {{d, -how.left, how.image_width, block.fill},
                           {d, last - how.left, how.image_width, block.fill}};
  const int64_t lines = std::min<int64_t>(block.end - block.begin, L);
  const auto part = hn::FirstN(d, std::min(how.width, lanes));
  for (const LinesOfImage<T>& each : block.images) {
    hn::Vec<D> weights[side * side - 1];
    MT_UNROLL for (int i = 0; i < side * side - 1; ++i) weights[i] = hn::Set(d, each.weights[i]);
    HWY_ALIGN T last_weight[lanes];
    hn::Store(hn::Set(d, each.weights[side * side - 1]), d, last_weight);
    const bool is_last = &each == &block.images.back();
    // The last lines may overlap those before, as may the last vectors.
    for (int64_t begin = block.begin; begin < block.end; begin += L) {
      const int64_t line = std::min(begin, block.end - lines);
      const T* from[L + side - 1];
      MT_UNROLL for (int i = 0; i < L + side - 1; ++i) {
        const int64_t of_image = line + i - how.above;
        const bool outside = of_image < 0 || of_image >= how.image_height;
        from[i] = outside ? filling : each.image + of_image * how.line - how.left;
      }
      T* const c = each.c + (line - block.begin) * how.width;
      if constexpr (shorter) {
        const bool ends = is_last && begin + lines >= block.end;
        line_vectors<L, Place::whole_line>(d, weights, last_weight, from, 0, edges[0], how, lines,
                                           c, ends ? &part : nullptr);
        continue;
      }
      line_vectors<L, Place::edge>(d, weights, last_weight, from, 0, edges[0], how, lines, c);
      for (int64_t next = lanes; next < last; next += lanes) {
        const int64_t at = std::min(next, last_inside);
        line_vectors<L, Place::inside>(d, weights, last_weight, from, at, edges[0], how, lines,
                                       c + at);
      }
      if (last > 0) {
        line_vectors<L, Place::edge>(d, weights, last_weight, from, last, edges[1], how, lines,
                                     c + last);
      }
    }
  }
}

// Where there are no vectors, code is to be small.
constexpr bool has_vectors = HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128;
constexpr int fewest_lanes = 4;
// Four lines at a time read fewer of the image, but longer ones come from memory more slowly.
constexpr int64_t short_line = 48;

template <class T, int lanes = lanes_of<T>>
void run_in_place(const ImageLinesBlock<T>& block) {
  constexpr hn::CappedTag<T, lanes> d;
  const int64_t width = block.how->width;
  if constexpr (sizeof(T) == 4 && lanes >= 2 * fewest_lanes) {
    if constexpr (lanes > 2 * fewest_lanes) {
      if (width <= lanes / 2) return run_in_place<T, lanes / 2>(block);
    }
    if (width < lanes) return run_lines_of<4, true>(d, block);
    if (width <= short_line) return run_lines_of<4, false>(d, block);
  } else if constexpr (lanes > fewest_lanes) {
    if (width < lanes) return run_in_place<T, lanes / 2>(block);
  }
  run_lines_of<2, false>(d, block);
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
  if constexpr (has_vectors) block.how->in_place ? run_in_place(block) : run_in_order(block);
}
void run_double(const ImageLinesBlock<double>& block) {
  if constexpr (has_vectors) run_in_place(block);
}
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
