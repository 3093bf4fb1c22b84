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

// Copies of shorter runs are reduced as fast; for extremes, each run is searched for NaNs.
constexpr int64_t shortest_run = 128, shortest_extreme_run = 256;

bool is_extreme(Reduction reduction) {
  return reduction == Reduction::max || reduction == Reduction::min;
}

// Calls use(data, count) for each run's part of elements [first, first + count).
template <class F>
void for_stretches(const Runs& runs, const char* base, int64_t size, int64_t first, int64_t count,
                   F use) {
  Walker walker(runs.starts, first / runs.length);
  int64_t within = first % runs.length;
  for (int64_t done = 0; done < count;) {
    const int64_t some = std::min(runs.length - within, count - done);
    use(base + (walker.position() + within) * size, some);
    done += some;
    within = 0;
    walker.next();
  }
}

bool is_zero(Compute type, const void* x) {
  return type == Compute::f32   ? *static_cast<const float*>(x) == 0
         : type == Compute::f64 ? *static_cast<const double*>(x) == 0
                                : false;
}

// The extreme of some elements, run by run; false if that is zero, whose sign may depend on their
// order.
bool find_extreme(const Runs& runs, Reduction reduction, Compute type, const char* base,
                  int64_t first, int64_t count, void* out) {
  constexpr int64_t most = 64;
  const auto size = static_cast<int64_t>(size_of(type));
  const Operator reduce = row_reduction(reduction, type);
  alignas(64) char results[most * 8];
  int64_t found = 0;
  for_stretches(runs, base, size, first, count, [&](const char* data, int64_t some) {
    if (found == most) {
      const Input before{results};
      reduce(results, &before, 1, most);
      found = 1;
    }
    const Input stretch{data};
    reduce(results + found++ * size, &stretch, 1, some);
  });
  const Input all{results};
  reduce(out, &all, 1, found);
  return !is_zero(type, out);
}

}  // namespace

Runs runs_of(const Layout& layout, Reduction reduction) {
  const int64_t shortest = is_extreme(reduction) ? shortest_extreme_run : shortest_run;
  const Layout collapsed = collapse(layout);
  const int last = collapsed.shape.rank() - 1;
  if (last < 0 || collapsed.strides[last] != 1 || collapsed.shape[last] < shortest) return {};
  return {collapsed.shape[last],
          {Shape(collapsed.shape.data(), last), Strides(collapsed.strides.data(), last), 0}};
}

void reduce_runs(const Runs& runs, Reduction reduction, Compute type, const char* base,
                 int64_t first, int64_t count, void* out) {
  if (is_extreme(reduction) && find_extreme(runs, reduction, type, base, first, count, out)) return;
  const auto size = static_cast<int64_t>(size_of(type));
  const LaneReduction to_lanes = reduction_to_lanes(reduction, type);
  const Operator reduce = row_reduction(reduction, type);
  alignas(64) char lanes[row_lanes * 8];
  alignas(8) char results[longest_row / row_panel * 8];
  int64_t panels = 0;
  for (int64_t done = 0; done < count || panels == 0; ++panels) {
    fill_identity(reduction, type, lanes, row_lanes);
    const int64_t all = std::min(row_panel, count - done);
    int64_t lane = 0;
    for_stretches(runs, base, size, first + done, all, [&](const char* data, int64_t some) {
      to_lanes(lanes, lane, data, some);
      lane = (lane + some) % row_lanes;
    });
    done += all;
    const Input sums{lanes};
    reduce(results + panels * size, &sums, 1, row_lanes);
  }
  combine_panels(elementwise_operator(combiner(reduction), type), results, panels, 1, size);
  std::memcpy(out, results, static_cast<size_t>(size));
}

}  // namespace mt::cpu
