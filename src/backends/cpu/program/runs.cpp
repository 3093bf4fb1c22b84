// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/program/runs.h"

#include <algorithm>
#include <cstring>

#include "backends/cpu/program/program.h"
#include "backends/cpu/program/totals.h"
#include "ops/order.h"
#include "tensor/walker.h"

namespace mt::cpu {
namespace {

constexpr int64_t shortest_run = 128;

}  // namespace

Runs runs_of(const Layout& layout) {
  const Layout collapsed = collapse(layout);
  const int last = collapsed.shape.rank() - 1;
  if (last < 0 || collapsed.strides[last] != 1 || collapsed.shape[last] < shortest_run) return {};
  return {collapsed.shape[last],
          {Shape(collapsed.shape.data(), last), Strides(collapsed.strides.data(), last), 0}};
}

void reduce_runs(const Runs& runs, Reduction reduction, Compute type, const char* base,
                 int64_t first, int64_t count, void* out) {
  const auto size = static_cast<int64_t>(size_of(type));
  const LaneReduction to_lanes = reduction_to_lanes(reduction, type);
  const Operator reduce = row_reduction(reduction, type);
  alignas(64) char lanes[row_lanes * 8];
  alignas(8) char results[longest_row / row_panel * 8];
  Walker walker(runs.starts, first / runs.length);
  int64_t within = first % runs.length, panels = 0;
  for (int64_t done = 0; done < count || panels == 0; ++panels) {
    fill_identity(reduction, type, lanes, row_lanes);
    const int64_t end = std::min(done + row_panel, count);
    for (int64_t lane = 0; done < end;) {
      const int64_t some = std::min(runs.length - within, end - done);
      to_lanes(lanes, lane, base + (walker.position() + within) * size, some);
      lane = (lane + some) % row_lanes;
      done += some;
      within += some;
      if (within < runs.length) continue;
      within = 0;
      walker.next();
    }
    const Input sums{lanes};
    reduce(results + panels * size, &sums, 1, row_lanes);
  }
  combine_panels(elementwise_operator(combiner(reduction), type), results, panels, 1, size);
  std::memcpy(out, results, static_cast<size_t>(size));
}

}  // namespace mt::cpu
