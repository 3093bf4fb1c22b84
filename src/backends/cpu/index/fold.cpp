// SPDX-License-Identifier: Apache-2.0
// The transpose of a sliding window: each element of the result gathers the windows it was in, in
// the windows' order, so that the sums do not depend on how the elements are shared out.
#include <algorithm>

#include "backends/cpu/index/kernels.h"
#include "backends/cpu/parallel.h"
#include "ops/half.h"

namespace mt::cpu {
namespace {

constexpr int64_t chunk = 1024;  // elements whose sums are kept at a time

struct Half {
  uint16_t bits;
  using Sum = float;
  static float load(Half x) { return half_to_float(x.bits); }
  static Half store(float x) { return {float_to_half(x)}; }
};
struct Bfloat {
  uint16_t bits;
  using Sum = float;
  static float load(Bfloat x) { return bfloat_to_float(x.bits); }
  static Bfloat store(float x) { return {float_to_bfloat(x)}; }
};
template <class T>
struct Plain {
  T value;
  using Sum = T;
  static T load(Plain x) { return x.value; }
  static Plain store(T x) { return {x}; }
};

template <class T>
void add_strided(typename T::Sum* sums, int64_t step, const T* x, int64_t stride, int64_t count) {
  using Sum = typename T::Sum;
  if constexpr (sizeof(T) == sizeof(Sum)) {
    static const Operator add_vectors = vector_addition<Sum>();
    if (step == 1 && stride == 1) {
      const Input in[2] = {{sums}, {x}};
      return add_vectors(sums, in, 1, count);
    }
  }
  for (int64_t c = 0; c < count; ++c) sums[c * step] += T::load(x[c * stride]);
}

// y is [outer..., n, inner...] and x [outer..., windows, inner..., size]. The sums are made for
// stretches of y's last dimension.
template <class T>
void fold(const NaiveCall& call) {
  using Sum = typename T::Sum;
  const NaiveArray &x = call.inputs[0], &y = call.output;
  if (y.size() == 0) return;
  int axis = static_cast<int>(call.attributes[0]), last = y.layout.shape.rank() - 1;
  int64_t step = call.attributes[1], dilation = call.attributes[2];
  int64_t size = x.layout.shape.back(), windows = x.layout.shape[axis];
  int64_t by_window = x.layout.strides[axis], by_place = x.layout.strides.back();
  int64_t width = y.layout.shape[last], length = y.layout.shape[axis];
  bool within_row = axis == last;

  // Rows of y, in x's terms; the axis itself is worked out from the row's index.
  Layout rows = dimensions(x.layout, 0, last);
  if (!within_row) {
    rows.shape[axis] = length;
    rows.strides[axis] = 0;
  }
  int64_t along = within_row ? 0 : x.layout.strides[last];
  const T* from = reinterpret_cast<const T*>(first_element(x));
  T* to = reinterpret_cast<T*>(first_element(y));
  parallel_for(y.size() / width, grain_of(width * 4), [&](int64_t begin, int64_t end) {
    Sum sums[chunk];
    Walker walker(rows, begin);
    for (int64_t row = begin; row < end; ++row, walker.next()) {
      const T* source = from + walker.position();
      for (int64_t done = 0; done < width; done += chunk) {
        int64_t count = std::min(chunk, width - done);
        std::fill(sums, sums + count, Sum(0));
        for (int64_t s = size - 1; s >= 0; --s) {  // later places are of earlier windows
          if (!within_row) {
            int64_t start = walker.index(axis) - s * dilation, w = start / step;
            if (start < 0 || start % step != 0 || w >= windows) continue;
            add_strided(sums, 1, source + w * by_window + s * by_place + done * along, along,
                        count);
            continue;
          }
          // Windows w with done <= w * step + s * dilation < done + count.
          int64_t low = done - s * dilation, high = low + count;
          int64_t first = low <= 0 ? 0 : (low + step - 1) / step;
          int64_t stop = high <= 0 ? 0 : std::min(windows, (high + step - 1) / step);
          if (first >= stop) continue;
          add_strided(sums + (first * step - low), step, source + first * by_window + s * by_place,
                      by_window, stop - first);
        }
        T* target = to + row * width + done;
        for (int64_t c = 0; c < count; ++c) target[c] = T::store(sums[c]);
      }
    }
  });
}

}  // namespace

void fold_kernel(const NaiveCall& call) {
  switch (call.output.dtype) {
    case Dtype::float16:
      return fold<Half>(call);
    case Dtype::bfloat16:
      return fold<Bfloat>(call);
    case Dtype::float32:
      return fold<Plain<float>>(call);
    default:
      return fold<Plain<double>>(call);
  }
}

}  // namespace mt::cpu
