// SPDX-License-Identifier: Apache-2.0
// Where the extreme element of each line is: the first of them, and a NaN before all numbers.
//
// Idea: a warp takes a line, each lane every 32nd element; then lanes are compared by halving.
//
// Shapes: x is [outer, length, inner], the result [outer, inner].
#include "backends/cuda/call_kernels.h"
#include "backends/cuda/device/operators.h"
#include "backends/cuda/device/positions.h"

namespace mt::cuda {
namespace {

constexpr int threads = call_threads;

template <class T>
struct Best {
  T value;
  int64_t place;  // -1: none yet
  // Whether another element is to be taken instead.
  template <bool largest>
  __device__ bool yields_to(T other, int64_t at) const {
    if (at < 0) return false;
    if (place < 0) return true;
    bool nan = value != value, other_nan = other != other;
    if (nan || other_nan) return other_nan && (!nan || at < place);
    if (value == other) return at < place;
    return largest ? other > value : other < value;
  }
};

template <bool largest>
__global__ void __launch_bounds__(threads) argmax_kernel(const CallView* call, int64_t lines) {
  const CallView& c = view(call);
  int64_t line = (int64_t{blockIdx.x} * threads + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (line >= lines) return;
  const ArrayView& x = view(c.inputs);
  int64_t length = x.layout.shape[1], inner = x.layout.shape[2];
  int64_t first = line / inner * length * inner + line % inner;
  with_compute(compute_of(x.dtype), [&](auto zero) {
    using T = decltype(zero);
    Best<T> best{0, -1};
    for (int64_t i = lane; i < length; i += 32) {
      Value value = load_number(x.data, x.dtype, position(x.layout, first + i * inner));
      if (best.template yields_to<largest>(unpack<T>(value), i)) best = {unpack<T>(value), i};
    }
    for (unsigned half = 16; half > 0; half /= 2) {
      T value = __shfl_down_sync(0xffffffff, best.value, half);
      int64_t place = __shfl_down_sync(0xffffffff, best.place, half);
      if (best.template yields_to<largest>(value, place)) best = {value, place};
    }
    if (lane == 0) store(reinterpret_cast<int64_t*>(c.output.data), line, best.place);
  });
}

template <bool largest>
void launch_extreme(const Call& call) {
  int64_t lines = element_count(call.group.output.layout.shape);
  if (lines == 0) return;
  launch(call.group.op->name, argmax_kernel<largest>, {call_blocks(lines * 32)}, {threads}, 0,
         call.stream, call.view, lines);
}

}  // namespace

void launch_argmax(const Call& call) { launch_extreme<true>(call); }
void launch_argmin(const Call& call) { launch_extreme<false>(call); }

}  // namespace mt::cuda
