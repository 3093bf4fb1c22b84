// SPDX-License-Identifier: Apache-2.0
// The gradient of the extremes of windows. Lines are processed a vector of windows at a time, whose
// elements are deinterleaved and interleaved again in registers. Lines too short for that are first
// strung together, unless masks serve, and lines that are not contiguous are copied.
#include <algorithm>
#include <cassert>

#include "backends/cpu/elementwise/targets.h"
#include "backends/cpu/index/kernels.h"
#include "backends/cpu/parallel/parallel.h"
#include "backends/cpu/strided/strided.h"
#include "ops/extremes.h"
#include "ops/naive.h"
#include "tensor/walker.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/index/extremes.cpp"
#include "hwy/foreach_target.h"

#include "backends/cpu/elementwise/first_lanes.h"
#include "backends/cpu/index/extremes_blocks-inl.h"

#ifndef MT_EXTREMES_LINES
#define MT_EXTREMES_LINES
namespace mt::cpu {
namespace {

// Windows one after the other: a line of x for each element along the other axes, the extremes, and
// the gradients that these share.
struct WindowLines {
  int64_t windows, width, lines;  // width: of a window in a line
  const float* x[most_window_lines];
  float* dx[most_window_lines];
  const float *y, *dy;
};

}  // namespace
}  // namespace mt::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace mt::cpu {
namespace HWY_NAMESPACE {

// Deinterleaves a vector of windows of W elements: element e of each goes to x[e]; and back.
template <int W>
HWY_INLINE void pick_apart(const float* from, Floats (&x)[4]) {
  if constexpr (W == 2) {
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
    const auto low = hn::LoadU(floats, from), high = hn::LoadU(floats, from + window_lanes);
    x[0] = hn::ConcatEven(floats, high, low);
    x[1] = hn::ConcatOdd(floats, high, low);
#else
    hn::LoadInterleaved2(floats, from, x[0], x[1]);
#endif
  } else if constexpr (W == 3) {
    hn::LoadInterleaved3(floats, from, x[0], x[1], x[2]);
  } else {
    hn::LoadInterleaved4(floats, from, x[0], x[1], x[2], x[3]);
  }
}
template <int W>
HWY_INLINE void put_together(const Floats (&x)[4], float* to) {
  if constexpr (W == 2) {
    hn::StoreInterleaved2(x[0], x[1], floats, to);
  } else if constexpr (W == 3) {
    hn::StoreInterleaved3(x[0], x[1], x[2], floats, to);
  } else {
    hn::StoreInterleaved4(x[0], x[1], x[2], x[3], floats, to);
  }
}

// A vector of windows from `at` on.
template <int W>
HWY_INLINE void share_vector(const WindowLines& of, int64_t at, Floats y, Floats dy) {
  const auto one = hn::Set(floats, 1.0f);
  auto count = hn::Zero(floats);
  Floats x[4];
  for (int64_t l = 0; l < of.lines; ++l) {
    pick_apart<W>(of.x[l] + at * W, x);
    HWY_UNROLL(4)
    for (int e = 0; e < W; ++e) count = count + hn::IfThenElseZero(hn::Eq(x[e], y), one);
  }
  const auto share = divide_among(dy, count, W * of.lines);
  for (int64_t l = 0; l < of.lines; ++l) {
    pick_apart<W>(of.x[l] + at * W, x);
    HWY_UNROLL(4)
    for (int e = 0; e < W; ++e) x[e] = hn::IfThenElseZero(hn::Eq(x[e], y), share);
    put_together<W>(x, of.dx[l] + at * W);
  }
}

// All windows, which are at least a vector; the last vector overlaps the one before.
template <int W>
void share_windows(const WindowLines& of) {
  constexpr int64_t lanes = window_lanes;
  for (int64_t i = 0; i < of.windows; i += lanes) {
    const int64_t at = std::min(i, of.windows - lanes);
    share_vector<W>(of, at, hn::LoadU(floats, of.y + at), hn::LoadU(floats, of.dy + at));
  }
}

void share_lines(const WindowLines& of) {
  switch (of.width) {
    case 2: return share_windows<2>(of);
    case 3: return share_windows<3>(of);
    default: return share_windows<4>(of);
  }
}

// Lines of at least a vector of windows: line i begins in[i] and out[i] elements after where `of`
// says.
void share_each(const WindowLines& of, const int64_t* in, const int64_t* out, int64_t count,
                int64_t length) {
  WindowLines line = of;
  line.windows = length;
  for (int64_t i = 0; i < count; ++i, line.y += length, line.dy += length) {
    for (int64_t l = 0; l < of.lines; ++l) {
      line.x[l] = of.x[l] + in[i];
      line.dx[l] = of.dx[l] + out[i];
    }
    share_lines(line);
  }
}

// Copies lines of `length` numbers, at lines + places[i], one after another to `strung`; or back.
template <bool back>
HWY_INLINE void string_lines(float* lines, const int64_t* places, int64_t count, int64_t length,
                             float* strung) {
  constexpr int64_t lanes = window_lanes;
  for (int64_t i = 0; i < count; ++i, strung += length) {
    float* const line = lines + places[i];
    const float* const from = back ? strung : line;
    float* const to = back ? line : strung;
    if (length < lanes) {
      const size_t some = length;
      store_first(floats, load_first(floats, from, some), to, some);
      continue;
    }
    for (int64_t j = 0; j < length; j += lanes) {
      const int64_t at = std::min(j, length - lanes);
      hn::StoreU(hn::LoadU(floats, from + at), floats, to + at);
    }
  }
}
void string_together(float* lines, const int64_t* places, int64_t count, int64_t length,
                     float* strung) {
  string_lines<false>(lines, places, count, length, strung);
}
void take_apart(float* lines, const int64_t* places, int64_t count, int64_t length, float* strung) {
  string_lines<true>(lines, places, count, length, strung);
}

void share_pairs(const WindowBlocks& blocks, const WindowLines& of, const int64_t* in,
                 const int64_t* out, int64_t count) {
  share_blocks(blocks, of.x[0], of.y, of.dy, of.dx[0], in, out, count);
}

int64_t windows_at_once() { return window_lanes; }
bool takes_pairs() { return goes_by_blocks; }

}  // namespace HWY_NAMESPACE
}  // namespace mt::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mt::cpu {
namespace {

HWY_EXPORT(share_each);
HWY_EXPORT(share_lines);
HWY_EXPORT(share_pairs);
HWY_EXPORT(string_together);
HWY_EXPORT(take_apart);
HWY_EXPORT(takes_pairs);
HWY_EXPORT(windows_at_once);

constexpr int64_t fewest_in_pairs = 8;   // of a line, where lines lie apart
constexpr int64_t strung_windows = 256;  // about so many at once
constexpr int64_t longest_strung = 32;   // of a line; longer ones fill vectors well enough
constexpr int64_t grain_windows = 4096;

// x as lines of windows.
struct Windows {
  int64_t length, width;    // windows in a line, elements of one there
  Layout line;              // in x
  bool whole;               // windows adjoin in it, as their elements do
  Layout lines, out_lines;  // the first of the lines that belong together, in x and dx
  int64_t count;            // lines that belong together
  int64_t at[most_window_lines], out_at[most_window_lines];
};

Windows windows_of(const NaiveCall& call) {
  const Layout &x = call.inputs[0].layout, &dx = call.output.layout;
  const int last = x.shape.rank() - 1;
  Windows w{};
  w.length = x.shape[last - 1];
  w.width = x.shape[last];
  w.line = {{w.length, w.width}, {x.strides[last - 1], x.strides[last]}};
  w.whole = is_contiguous(w.line);
  Layout within, out_within;
  for (int d = 0; d < last - 1; ++d) {
    const bool reduced =
        std::find(call.attributes.begin(), call.attributes.end(), d) != call.attributes.end();
    Layout &in = reduced ? within : w.lines, &out = reduced ? out_within : w.out_lines;
    in.shape.push_back(x.shape[d]);
    in.strides.push_back(x.strides[d]);
    out.shape.push_back(x.shape[d]);
    out.strides.push_back(dx.strides[d]);
  }
  w.lines = collapse(w.lines);
  w.out_lines = collapse(w.out_lines);
  w.count = element_count(within.shape);
  assert(w.count <= most_window_lines && w.count * w.width <= most_window_elements);
  for (int64_t l = 0; l < w.count; ++l) {
    w.at[l] = locate(within, l);
    w.out_at[l] = locate(out_within, l);
  }
  return w;
}

// Some lines, strung together where they are short.
class Strip {
 public:
  Strip(const NaiveCall& call, const Windows& windows)
      : w_(windows),
        x_(reinterpret_cast<float*>(first_element(call.inputs[0]))),
        y_(call.inputs[1]),
        dy_(call.inputs[2]),
        dx_(reinterpret_cast<float*>(first_element(call.output))) {
    const int64_t length = w_.length;
    if (!w_.whole || w_.width != 2 || w_.count != 2 || length >= 16) return;
    if (!HWY_DYNAMIC_DISPATCH(takes_pairs)()) return;
    const auto in_order = [&](const Layout& lines, int64_t second) {
      return second == 2 * length && is_contiguous_by(lines, 4 * length);
    };
    const bool apart = !in_order(w_.lines, w_.at[1]) || !in_order(w_.out_lines, w_.out_at[1]);
    if (!apart || length >= fewest_in_pairs) {
      blocks_ = WindowBlocks(length, apart, w_.at[1], w_.out_at[1]);
    }
  }

  // Windows [begin, begin + length) of lines [first, first + count), at most strung_windows in all;
  // of several lines, all windows.
  void run(int64_t first, int64_t count, int64_t begin, int64_t length) {
    const int64_t windows = count * length, lanes = HWY_DYNAMIC_DISPATCH(windows_at_once)();
    const int64_t line = length * w_.width, skipped = begin * w_.width;
    const int64_t pitch = strung_windows * w_.width, from = first * w_.length + begin;
    const bool strung = count > 1 || windows < lanes;
    WindowLines of{std::max(windows, lanes), w_.width, w_.count, {}, {}, {}, {}};
    const bool pairs = blocks_.length > 0, each = pairs || (w_.whole && length >= lanes);
    if (windows < lanes && !each) {  // a whole vector of them is processed
      for (int64_t l = 0; l < w_.count; ++l)
        std::fill_n(x_values_ + l * pitch, lanes * w_.width, 0.0f);
      std::fill_n(y_values_, lanes, 0.0f);
      std::fill_n(dy_values_, lanes, 0.0f);
    }
    of.y = read(y_, from, windows, each || windows >= lanes, y_values_);
    of.dy = read(dy_, from, windows, each || windows >= lanes, dy_values_);
    int64_t in[strung_windows], out[strung_windows];
    find_places(w_.lines, first, count, in);
    find_places(w_.out_lines, first, count, out);
    if (each) {
      for (int64_t l = 0; l < w_.count; ++l) {
        of.x[l] = x_ + w_.at[l] + skipped;
        of.dx[l] = dx_ + w_.out_at[l] + skipped;
      }
      if (pairs) return HWY_DYNAMIC_DISPATCH(share_pairs)(blocks_, of, in, out, count);
      return HWY_DYNAMIC_DISPATCH(share_each)(of, in, out, count, length);
    }
    for (int64_t l = 0; l < w_.count; ++l) {
      float *const x = x_ + w_.at[l], *const values = x_values_ + l * pitch;
      of.x[l] = values;
      if (!w_.whole) {
        for (int64_t i = 0; i < count; ++i) {
          gather_strided(values + i * line, x + in[i], sizeof(float), w_.line, skipped, line);
        }
      } else if (strung) {
        HWY_DYNAMIC_DISPATCH(string_together)(x + skipped, in, count, line, values);
      } else {
        of.x[l] = x + skipped + in[0];
      }
      of.dx[l] = strung ? dx_values_ + l * pitch : dx_ + w_.out_at[l] + skipped + out[0];
    }
    HWY_DYNAMIC_DISPATCH(share_lines)(of);
    for (int64_t l = 0; strung && l < w_.count; ++l) {
      HWY_DYNAMIC_DISPATCH(take_apart)
      (dx_ + w_.out_at[l] + skipped, out, count, line, dx_values_ + l * pitch);
    }
  }

 private:
  static bool is_contiguous_by(const Layout& lines, int64_t step) {
    return lines.shape.rank() == 0 || (lines.shape.rank() == 1 && lines.strides[0] == step);
  }
  static void find_places(const Layout& lines, int64_t first, int64_t count, int64_t* places) {
    if (lines.shape.rank() <= 1) {
      const int64_t step = lines.shape.rank() == 0 ? 0 : lines.strides[0];
      for (int64_t i = 0; i < count; ++i) places[i] = (first + i) * step;
      return;
    }
    Walker walker(lines, first);
    for (int64_t i = 0; i < count; ++i, walker.next()) places[i] = walker.position();
  }

  // Elements of y or dy: in place, if they are contiguous there and whole vectors may be read.
  static const float* read(const NaiveArray& from, int64_t first, int64_t count, bool whole,
                           float* values) {
    const float* base = reinterpret_cast<const float*>(first_element(from));
    if (whole && is_contiguous(from.layout)) return base + first;
    gather_strided(values, base, sizeof(float), from.layout, first, count);
    return values;
  }

  const Windows& w_;
  WindowBlocks blocks_;
  float* const x_;  // only read
  const NaiveArray &y_, &dy_;
  float* const dx_;
  alignas(64) float x_values_[most_window_elements * strung_windows];
  alignas(64) float dx_values_[most_window_elements * strung_windows];
  alignas(64) float y_values_[strung_windows], dy_values_[strung_windows];
};

}  // namespace

void share_among_extremes_kernel(const NaiveCall& call) {
  const Layout& x = call.inputs[0].layout;
  if (element_count(x.shape) == 0) return;
  const Windows windows = windows_of(call);
  const int64_t length = windows.length, all = element_count(windows.lines.shape);
  const int64_t at_once =
      length > longest_strung ? 1 : std::max<int64_t>(1, strung_windows / length);
  const int64_t parts = (length + strung_windows - 1) / strung_windows;  // of a line
  parallel_for(all, std::max<int64_t>(1, grain_windows / length), [&](int64_t begin, int64_t end) {
    Strip strip(call, windows);
    for (int64_t i = begin; i < end; i += at_once) {
      for (int64_t p = 0; p < parts; ++p) {
        const int64_t first = length * p / parts;
        strip.run(i, std::min(at_once, end - i), first, length * (p + 1) / parts - first);
      }
    }
  });
}

}  // namespace mt::cpu
#endif
