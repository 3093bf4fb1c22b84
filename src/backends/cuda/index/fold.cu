// SPDX-License-Identifier: Apache-2.0
// The transpose of a sliding window.
//
// Idea: each element of the result gathers the windows it was in, in the windows' order, so that
// the sums do not depend on the order of threads.
//
// Shapes: y is [outer..., length, inner...] and x [outer..., windows, inner..., size].
#include "backends/cuda/call_kernels.h"
#include "backends/cuda/device/operators.h"
#include "backends/cuda/device/positions.h"

namespace mt::cuda {
namespace {

constexpr int threads = call_threads;

__global__ void __launch_bounds__(threads) fold_kernel(const CallView* call, int64_t count) {
  const CallView& c = view(call);
  int64_t i = int64_t{blockIdx.x} * threads + threadIdx.x;
  if (i >= count) return;
  const ArrayView& x = view(c.inputs);
  const LayoutView& y = c.output.layout;
  int axis = static_cast<int>(load(c.attributes)), last = x.layout.rank - 1;
  int64_t step = load(c.attributes, 1), dilation = load(c.attributes, 2);
  int64_t size = x.layout.shape[last], windows = x.layout.shape[axis];
  int64_t inner = extent(y, axis + 1, y.rank), along = i / inner % y.shape[axis];
  int64_t outer = i / (inner * y.shape[axis]);
  with_compute(compute_of(x.dtype), [&](auto sum) {
    using T = decltype(sum);
    sum = 0;
    for (int64_t s = size - 1; s >= 0; --s) {  // later places are of earlier windows
      int64_t start = along - s * dilation, window = start / step;
      if (start < 0 || start % step != 0 || window >= windows) continue;
      int64_t element = ((outer * windows + window) * inner + i % inner) * size + s;
      Value value = load_number(x.data, x.dtype, position(x.layout, element));
      sum = combine(Reduction::sum, sum, unpack<T>(value));
    }
    store_number(c.output.data, c.output.dtype, i, pack(sum));
  });
}

}  // namespace

void launch_fold(const Call& call) {
  int64_t count = element_count(call.group.output.layout.shape);
  if (count == 0) return;
  launch("fold", fold_kernel, {call_blocks(count)}, {threads}, 0, call.stream, call.view, count);
}

}  // namespace mt::cuda
