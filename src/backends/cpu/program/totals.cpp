// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/program/totals.h"

#include <algorithm>
#include <bit>

#include "backends/cpu/cache.h"
#include "backends/cpu/parallel/parallel.h"
#include "backends/cpu/strided/strided.h"
#include "base/rounding.h"
#include "ops/order.h"

namespace mt::cpu {
namespace {

int64_t panels_of(const Segment& segment) {
  int64_t panel = column_panel(segment.columns);
  return std::max<int64_t>(1, divide_up(segment.rows, panel));
}

// The bytes that all chains of one total take.
int64_t chain_bytes(const Total& total, const Segment& segment) {
  int64_t bytes = panels_of(segment) * segment.columns * static_cast<int64_t>(size_of(total.type));
  return round_up(bytes, cache_line);
}

}  // namespace

Elementwise combiner(Reduction reduction) {
  switch (reduction) {
    case Reduction::sum: return Elementwise::add;
    case Reduction::prod: return Elementwise::mul;
    case Reduction::max: return Elementwise::maximum;
    case Reduction::min: return Elementwise::minimum;
  }
  return Elementwise::add;
}

void fill_identity(Reduction reduction, Compute type, void* chains, int64_t count) {
  alignas(8) char identity[8];
  const Input nothing{identity};  // even zero elements need a non-null pointer
  row_reduction(reduction, type)(identity, &nothing, 1, 0);
  row_expansion(size_of(type))(chains, identity, 1, count);
}

void combine_panels(Operator operate, char* panels, int64_t count, int64_t width, int64_t size) {
  const int64_t bytes = width * size;
  // Level by level, each in one call, as long as the cache holds the results.
  for (; count > 1 && count * bytes <= first_cache; count = divide_up<int64_t>(count, 2)) {
    const Input in[2] = {{panels, 2 * bytes}, {panels + bytes, 2 * bytes}};
    operate(panels, in, count / 2, width);
    if (count % 2 == 1) {
      copy_bytes(panels + count / 2 * bytes, panels + (count - 1) * bytes, size_t(bytes));
    }
  }
  if (count <= 1) return;
  int64_t half = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(count))) / 2;
  char* right = panels + half * width * size;
  combine_panels(operate, panels, half, width, size);
  combine_panels(operate, right, count - half, width, size);
  const Input in[2] = {{panels}, {right}};
  operate(panels, in, 1, width);
}

void run_totals(const PreparedProgram& prepared, const Segment& segment, void* const* buffers,
                const Immediates* immediates, char* scratch) {
  const std::vector<Total>& totals = prepared.totals;
  const int64_t columns = segment.columns, tile = prepared.tile_rows;
  const int64_t panel = column_panel(columns), panels = panels_of(segment);
  char* chains = scratch + prepared.scratch_bytes * prepared.threads;
  auto run_panel = [&](ProgramRun* run, int64_t index) {
    char* own = chains;
    for (size_t t = 0; t < totals.size(); ++t) {
      char* at = own + index * columns * static_cast<int64_t>(size_of(totals[t].type));
      fill_identity(totals[t].reduction, totals[t].type, at, columns);
      run->set_total(t, at);
      own += chain_bytes(totals[t], segment);
    }
    int64_t end = std::min(segment.rows, (index + 1) * panel);
    for (int64_t row = index * panel, rows; row < end; row += rows) {
      rows = std::min(prepared.pieced.empty() ? tile : tile - row % tile, end - row);
      run->run(row, rows, std::min(tile, segment.rows - row - rows));
    }
  };
  const int64_t grain = std::max<int64_t>(1, prepared.grain / panel);
  parallel_workers(panels, grain, prepared.threads, [&](int worker, int64_t begin, int64_t end) {
    ProgramRun run(prepared, segment, buffers, immediates,
                   scratch + worker * prepared.scratch_bytes, std::min(tile, panel));
    for (int64_t index = begin; index < end; ++index) run_panel(&run, index);
  });
  for (const Total& total : totals) {
    const Operand& output = total.output;
    combine_panels(elementwise_operator(combiner(total.reduction), total.type), chains, panels,
                   columns, static_cast<int64_t>(size_of(total.type)));
    const void* in[1] = {chains};
    store_kernel(output.dtype)(buffers[output.buffer], in, columns);
    chains += chain_bytes(total, segment);
  }
}

int64_t totals_bytes(const PreparedProgram& prepared, const Segment& segment) {
  int64_t bytes = 0;
  for (const Total& total : prepared.totals) bytes += chain_bytes(total, segment);
  return bytes;
}

}  // namespace mt::cpu
