// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/program/reduce.h"

#include <algorithm>
#include <cstring>

#include "backends/cpu/parallel/parallel.h"
#include "backends/cpu/program/program.h"
#include "backends/cpu/program/totals.h"
#include "ops/order.h"
#include "tensor/rounding.h"

namespace mt::cpu {
namespace {

constexpr int64_t chunk = 1024;  // elements of a tile, and outputs of a column task
constexpr int64_t fewest_columns = 256;
constexpr int64_t grain_elements = 32 << 10;

// The elements are one long row to the program, whatever they mean to the reduction.
Segment flat(const Segment& segment) {
  Segment result = segment;
  result.rows = segment.rows * segment.columns;
  result.columns = 1;
  return result;
}

// One panel of one long row: element j of the panel goes to lane j % row_lanes.
void reduce_in_lanes(const Group& group, const PreparedReduction& shape, const Segment& segment,
                     void* const* buffers, const Immediates* immediates, char* scratch,
                     char* partials) {
  int64_t size = static_cast<int64_t>(size_of(group.type));
  Operator reduce = row_reduction(group.reduction, group.type);
  int16_t value = group.program.instructions.back().in[0];
  bool in_memory = group.program.instructions.size() == 1 && value < 0;
  int64_t grain = std::max<int64_t>(1, grain_elements / std::min(shape.panel, group.reduced + 1));
  parallel_workers(group.outer * shape.panels, grain, shape.elements.threads,
                   [&](int worker, int64_t begin, int64_t end) {
                     char* registers = scratch + worker * shape.worker_bytes;
                     char* gathered = registers + shape.elements.scratch_bytes;
                     ProgramRun run(shape.elements, segment, buffers, immediates, registers, chunk);
                     for (int64_t task = begin; task < end; ++task) {
                       int64_t row = task / shape.panels, first = task % shape.panels * shape.panel;
                       int64_t count = std::min(shape.panel, group.reduced - first);
                       int64_t at = row * group.reduced + first;
                       if (shape.whole.operate) {
                         Input in[2];
                         for (int k = 0; k < 2 && shape.whole.in[k].place != no_place; ++k) {
                           in[k] = {run.address(shape.whole.in[k].place, at)};
                         }
                         shape.whole.operate(partials + task * size, in, 1,
                                             std::max<int64_t>(count, 0));
                         continue;
                       }
                       const void* source = gathered;
                       if (in_memory) {
                         source = run.address(value, at);
                       } else {
                         for (int64_t done = 0; done < count; done += chunk) {
                           int64_t some = std::min(chunk, count - done);
                           run.run(at + done, some);
                           std::memcpy(gathered + done * size, run.address(value, at + done),
                                       static_cast<size_t>(some * size));
                         }
                       }
                       const Input one{source};
                       reduce(partials + task * size, &one, 1, std::max<int64_t>(count, 0));
                     }
                   });
}

// One panel of rows for a stretch of columns: each output is one chain, row after row.
void reduce_in_columns(const Group& group, const PreparedReduction& shape, const Segment& segment,
                       void* const* buffers, const Immediates* immediates, char* scratch,
                       char* partials) {
  int64_t size = static_cast<int64_t>(size_of(group.type));
  Operator operate = elementwise_operator(combiner(group.reduction), group.type);
  alignas(64) char identities[chunk * 8];  // what each chain begins with
  fill_identity(group.reduction, group.type, identities, std::min(chunk, group.inner));
  int16_t value = group.program.instructions.back().in[0];
  int64_t stretches = divide_up(group.inner, shape.stretch);
  int64_t rows_at_once = stretches == 1 ? std::max<int64_t>(1, chunk / group.inner) : 1;
  int64_t work = std::max<int64_t>(
      1, std::min(shape.panel, group.reduced) * std::min(group.inner, shape.stretch));
  int64_t grain = std::max<int64_t>(1, grain_elements / work);
  int64_t tasks = group.outer * shape.panels * stretches;
  parallel_workers(
      tasks, grain, shape.elements.threads, [&](int worker, int64_t begin, int64_t end) {
        ProgramRun run(shape.elements, segment, buffers, immediates,
                       scratch + worker * shape.worker_bytes, chunk);
        for (int64_t task = begin; task < end; ++task) {
          int64_t column = task % stretches * shape.stretch;
          int64_t panel = task / stretches % shape.panels;
          int64_t outer = task / stretches / shape.panels;
          int64_t width = std::min(shape.stretch, group.inner - column);
          char* result = partials + ((outer * shape.panels + panel) * group.inner + column) * size;
          std::memcpy(result, identities, static_cast<size_t>(width * size));
          int64_t last = std::min(group.reduced, (panel + 1) * shape.panel);
          for (int64_t row = panel * shape.panel; row < last; row += rows_at_once) {
            int64_t rows = std::min(rows_at_once, last - row);
            int64_t at = (outer * group.reduced + row) * group.inner + column;
            run.run(at, rows * width);
            const char* values = run.address(value, at);
            for (int64_t r = 0; r < rows; ++r) {
              const Input in[2] = {{result}, {values + r * width * size}};
              operate(result, in, 1, width);
            }
          }
        }
      });
}

}  // namespace

PreparedReduction prepare_reduction(const Group& group) {
  int64_t size = static_cast<int64_t>(size_of(group.type));
  PreparedReduction prepared;
  prepared.segment = flat(group.segments[0]);
  prepared.elements = prepare_tiles(group.program, prepared.segment, chunk);
  std::vector<Step>& steps = prepared.elements.steps;
  if (group.in_lanes && steps.size() == 2 && steps[0].extent == Extent::flat) {
    std::vector<Step> joined = steps;
    join_steps(&joined, true);
    if (joined.size() == 1) prepared.whole = joined[0];
  }
  steps.pop_back();  // the reduction
  prepared.panel = group.in_lanes ? row_panel : column_panel(group.outer * group.inner);
  prepared.panels = std::max<int64_t>(1, divide_up(group.reduced, prepared.panel));
  // Narrower where there would not be one for each thread.
  int64_t others = std::max<int64_t>(1, group.outer * prepared.panels);
  int64_t wanted = divide_up<int64_t>(prepared.elements.threads, others);
  prepared.stretch =
      std::clamp(round_up(divide_up(group.inner, wanted), 64), fewest_columns, chunk);
  prepared.worker_bytes = prepared.elements.scratch_bytes +
                          (group.in_lanes ? round_up(row_panel * size, cache_line) : 0);
  prepared.partial_bytes = round_up(group.outer * prepared.panels * group.inner * size, cache_line);
  return prepared;
}

int64_t scratch_bytes(const PreparedReduction& prepared) {
  return prepared.worker_bytes * prepared.elements.threads + prepared.partial_bytes;
}

void run_reduction(const Group& group, const PreparedReduction& prepared, void* const* buffers,
                   const Immediates* immediates, char* scratch) {
  if (group.outer * group.inner == 0) return;
  char* partials = scratch + prepared.worker_bytes * prepared.elements.threads;
  (group.in_lanes ? reduce_in_lanes : reduce_in_columns)(group, prepared, prepared.segment, buffers,
                                                         immediates, scratch, partials);
  int64_t size = static_cast<int64_t>(size_of(group.type));
  Operator operate = elementwise_operator(combiner(group.reduction), group.type);
  Kernel store = store_kernel(group.output.dtype);
  char* out = static_cast<char*>(buffers[group.output.buffer]);
  int64_t out_size = static_cast<int64_t>(size_of(group.output.dtype));
  for (int64_t o = 0; o < group.outer; ++o) {
    char* own = partials + o * prepared.panels * group.inner * size;
    combine_panels(operate, own, prepared.panels, group.inner, size);
    const void* in[1] = {own};
    store(out + o * group.inner * out_size, in, group.inner);
  }
}

}  // namespace mt::cpu
