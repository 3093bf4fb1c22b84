// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/program/reduce.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "backends/cpu/cache.h"
#include "backends/cpu/parallel/parallel.h"
#include "backends/cpu/program/totals.h"
#include "backends/cpu/strided/strided.h"
#include "base/rounding.h"
#include "ops/order.h"
#include "tensor/first_byte.h"
#include "tensor/walker.h"

namespace mt::cpu {
namespace {

constexpr int64_t elements_in_cache = 8 * reduced_tile;  // of rows that are read column by column
constexpr int64_t narrow_rows = 64;                      // columns
// Bytes up to which the hardware prefetches separate stretches of rows well enough: from the
// last-level cache, software prefetches take up to a fifth longer.
constexpr int64_t foreseen = 8 << 20;
constexpr int64_t grain_elements = 32 << 10;

// One run of a reduction. Workers divide its panels; each panel leaves a partial result.
class ReductionRun {
 public:
  ReductionRun(const ReduceGroup& group, const PreparedReduction& prepared, void* const* buffers,
               const Immediates* immediates, char* scratch)
      : group_(group),
        prepared_(prepared),
        buffers_(buffers),
        immediates_(immediates),
        scratch_(scratch),
        partials_(prepared.partial_bytes > 0
                      ? scratch + prepared.worker_bytes * prepared.elements.threads
                      : static_cast<char*>(buffers[group.output.buffer])),
        size_(static_cast<int64_t>(size_of(group.type))),
        value_(group.program.instructions.back().in[0]) {}

  void run() {
    group_.in_lanes ? reduce_in_lanes() : reduce_in_columns();
    combine();
  }

 private:
  char* scratch_of(int worker) const { return scratch_ + worker * prepared_.worker_bytes; }
  char* held_by(int worker) const { return scratch_of(worker + 1) - prepared_.held_bytes; }
  ProgramRun elements(int worker) const {
    return ProgramRun(prepared_.elements, prepared_.segment, buffers_, immediates_,
                      scratch_of(worker), reduced_tile);
  }

  // One panel of one long row: element j of the panel goes to lane j % row_lanes.
  void reduce_in_lanes() {
    const int64_t work = std::min(prepared_.panel, group_.reduced + 1);
    parallel_workers(group_.outer * prepared_.panels, std::max<int64_t>(1, grain_elements / work),
                     prepared_.elements.threads, [&](int worker, int64_t begin, int64_t end) {
                       ProgramRun run = elements(worker);
                       int64_t held = 0;  // the end of what has been read
                       for (int64_t task = begin, some; task < end; task += some) {
                         if ((some = reduce_where_they_lie(run, task, end)) > 0) continue;
                         some = 1;
                         const auto [first, count] = elements_of(task);
                         if (prepared_.held > 0 && first + count > held) {
                           const auto [last, rest] = elements_of(end - 1);
                           held = std::min(first + prepared_.held, last + rest);
                           run.read_block(held_by(worker), first, held - first);
                         }
                         reduce_row_panel(run, task);
                       }
                     });
  }
  // The first element of a task, and how many it has.
  std::pair<int64_t, int64_t> elements_of(int64_t task) const {
    const int64_t first = task % prepared_.panels * prepared_.panel;
    return {task / prepared_.panels * group_.reduced + first,
            std::clamp<int64_t>(group_.reduced - first, 0, prepared_.panel)};
  }
  // Reduces panels from `task` on, if their kernel reads memory itself: adjacent panels at once,
  // since one has too few chains, and too few streams of memory, for full speed. Returns how many.
  int64_t reduce_where_they_lie(const ProgramRun& run, int64_t task, int64_t end) const {
    const Step& whole = prepared_.whole;
    if (!whole.operate && !in_memory()) return 0;
    const auto [at, count] = elements_of(task);
    const int64_t full = group_.reduced / prepared_.panel - task % prepared_.panels;
    const int64_t panels = std::clamp<int64_t>(full, 1, end - task);
    auto operand = [&run, this, at = at](int16_t place) -> Input {
      const char* const begin = run.address(place, at);
      return {begin, run.address(place, at + prepared_.panel) - begin};
    };
    if (whole.operate) {
      Input in[2];
      for (int k = 0; k < 2 && whole.in[k].place != no_place; ++k) {
        in[k] = operand(whole.in[k].place);
      }
      whole.operate(partials_ + task * size_, in, panels, count);
    } else {
      const Input one = operand(value_);
      row_reduction(group_.reduction, group_.type)(partials_ + task * size_, &one, panels, count);
    }
    return panels;
  }
  void reduce_row_panel(ProgramRun& run, int64_t task) {
    const auto [at, count] = elements_of(task);
    char* result = partials_ + task * size_;
    const Operator reduce = row_reduction(group_.reduction, group_.type);
    if (prepared_.last.operate) return reduce_compact_tiles(reduce, result, run, at, count);
    if (prepared_.runs) {  // read in place
      const Memory& memory = prepared_.segment.memory[0];
      const char* base = static_cast<const char*>(buffers_[memory.buffer]) + first_byte(memory);
      return reduce_runs(prepared_.runs, group_.reduction, group_.type, base, at, count, result);
    }
    const LaneReduction to_lanes = reduction_to_lanes(group_.reduction, group_.type);
    alignas(64) char lanes[row_lanes * 8];
    fill_identity(group_.reduction, group_.type, lanes, row_lanes);
    add_tiles(to_lanes, lanes, run, at, count);
    const Input sums{lanes};
    reduce(result, &sums, 1, row_lanes);
  }
  // Reduces integers, for which each tile may leave a result of its own.
  void reduce_compact_tiles(Operator reduce, char* result, ProgramRun& run, int64_t first,
                            int64_t count) const {
    alignas(8) char results[row_panel / reduced_tile * 8];
    int64_t tiles = 0;
    for (int64_t done = 0; done < count; done += reduced_tile, ++tiles) {
      const int64_t some = std::min(reduced_tile, count - done);
      run.run(first + done, some, std::min(reduced_tile, count - done - some));
      const Input tile{run.address(prepared_.last.in[0].place, first + done)};
      prepared_.last.operate(results + tiles * size_, &tile, 1, some);
    }
    const Input all{results};
    reduce(result, &all, 1, tiles);
  }
  void add_tiles(LaneReduction to_lanes, char* lanes, ProgramRun& run, int64_t first,
                 int64_t count) const {
    for (int64_t done = 0; done < count; done += reduced_tile) {
      const int64_t some = std::min(reduced_tile, count - done);
      run.run(first + done, some, std::min(reduced_tile, count - done - some));
      to_lanes(lanes, 0, run.address(value_, first + done), some);
    }
  }

  // One panel of rows for a stretch of columns: each output is one chain, row after row.
  void reduce_in_columns() {
    alignas(64) char identities[reduced_tile * 8];  // what each chain begins with
    fill_identity(group_.reduction, group_.type, identities, std::min(reduced_tile, group_.inner));
    const int64_t stretches = divide_up(group_.inner, prepared_.stretch);
    const int64_t work =
        std::min(prepared_.panel, group_.reduced) * std::min(group_.inner, prepared_.stretch);
    parallel_workers(group_.outer * prepared_.panels * stretches,
                     std::max<int64_t>(1, grain_elements / std::max<int64_t>(1, work)),
                     prepared_.elements.threads, [&](int worker, int64_t begin, int64_t end) {
                       ProgramRun run = elements(worker);
                       for (int64_t task = begin, some; task < end; task += some) {
                         if ((some = reduce_narrow_panels(run, task, end, identities)) > 0)
                           continue;
                         some = 1;
                         reduce_column_panel(run, task / stretches, task % stretches, identities,
                                             held_by(worker));
                       }
                     });
  }
  // Reduces panels of short rows from `task` on at once, if they lie in memory: one alone would be
  // a single chain. Returns how many.
  int64_t reduce_narrow_panels(const ProgramRun& run, int64_t task, int64_t end,
                               const char* identities) const {
    if (!in_memory() || prepared_.held > 0 || group_.inner > narrow_rows) return 0;
    const int64_t rows = std::min(prepared_.panel, group_.reduced);
    const int64_t outer = task / prepared_.panels, panel = task % prepared_.panels;
    const int64_t full = prepared_.panels == 1 ? end - task : group_.reduced / rows - panel;
    const int64_t panels = std::min(full, end - task);
    const ColumnReduction down = reduction_down(group_.reduction, group_.type);
    if (panels < 2 || !down) return 0;
    const int64_t bytes = group_.inner * size_;
    char* result = partials_ + task * bytes;
    for (int64_t p = 0; p < panels; ++p) {
      std::memcpy(result + p * bytes, identities, static_cast<size_t>(bytes));
    }
    const int64_t at = (outer * group_.reduced + panel * prepared_.panel) * group_.inner;
    const bool far = bytes_read() > prepared_.elements.threads * second_cache;
    down(result, run.address(value_, at), rows, group_.inner, panels, far);
    return panels;
  }
  void reduce_column_panel(ProgramRun& run, int64_t task, int64_t stretch, const char* identities,
                           char* held) {
    const int64_t outer = task / prepared_.panels, panel = task % prepared_.panels;
    const int64_t column = stretch * prepared_.stretch;
    const int64_t width = std::min(prepared_.stretch, group_.inner - column);
    char* result = partials_ + (task * group_.inner + column) * size_;
    std::memcpy(result, identities, static_cast<size_t>(width * size_));
    const int64_t begin = panel * prepared_.panel;
    const int64_t last = std::min(group_.reduced, begin + prepared_.panel);
    if (prepared_.halves) {
      const int64_t at = (outer * group_.reduced + begin) * group_.inner + column;
      const void* const first = run.address(static_cast<int16_t>(~0), at);
      return prepared_.halves(reinterpret_cast<float*>(result), static_cast<const uint16_t*>(first),
                              group_.inner, last - begin, width);
    }
    const bool whole_rows = width == group_.inner;
    const int64_t most = in_memory() ? elements_in_cache : reduced_tile;
    const bool held_apart = prepared_.held > 0 && !prepared_.elements.panels.dense();
    const int64_t together =
        whole_rows && !held_apart ? std::max<int64_t>(1, most / group_.inner) : 1;
    const ColumnReduction down =
        together > 1 ? reduction_down(group_.reduction, group_.type) : nullptr;
    const Operator operate = combining();
    int64_t read = 0;  // rows before this one are held
    const bool fetches = in_memory() && together == 1 && bytes_read() > foreseen;
    for (int64_t row = begin, rows; row < last; row += rows) {
      const int64_t at = (outer * group_.reduced + row) * group_.inner + column;
      if (prepared_.held > 0 && row >= read) {
        const PanelOrder& order = prepared_.elements.panels;
        const int64_t within = (outer * group_.reduced + row) % order.rows;
        read = std::min({row + order.together, row + order.rows - within, last});
        run.read_panel(held, at, read - row, width);
      }
      rows = std::min(together, (prepared_.held > 0 ? read : last) - row);
      const int64_t next = whole_rows ? std::min(together, last - row - rows) : 0;
      if (!in_memory()) run.run(at, rows * width, next * width);
      const char* values = run.address(value_, at);
      if (down) {
        down(result, values, rows, width, 1, false);
        continue;
      }
      if (fetches) {  // the next row's stretch, or the next stretch of the first row
        const char* coming = values + group_.inner * size_;
        if (row + 1 == last) coming = values + (width - (row - begin) * group_.inner) * size_;
        for (int64_t byte = 0; byte < width * size_; byte += cache_line) {
          __builtin_prefetch(coming + byte, 0, 2);
        }
      }
      for (int64_t r = 0; r < rows; ++r) {
        const Input in[2] = {{result}, {values + r * width * size_}};
        operate(result, in, 1, width);
      }
    }
  }

  // Joins the panels' results.
  void combine() {
    if (prepared_.partial_bytes == 0) return;
    const Operator operate = combining();
    const Kernel store = store_kernel(group_.output.dtype);
    char* out = static_cast<char*>(buffers_[group_.output.buffer]);
    const int64_t out_size = static_cast<int64_t>(size_of(group_.output.dtype));
    for (int64_t o = 0; o < group_.outer; ++o) {
      char* own = partials_ + o * prepared_.panels * group_.inner * size_;
      combine_panels(operate, own, prepared_.panels, group_.inner, size_);
      const void* in[1] = {own};
      store(out + o * group_.inner * out_size, in, group_.inner);
    }
  }
  int64_t bytes_read() const { return group_.outer * group_.reduced * group_.inner * size_; }
  // Whether elements are reduced as they lie in memory, and nothing is computed.
  bool in_memory() const { return group_.program.instructions.size() == 1 && value_ < 0; }
  Operator combining() const {
    return elementwise_operator(combiner(group_.reduction), group_.type);
  }

  const ReduceGroup& group_;
  const PreparedReduction& prepared_;
  void* const* const buffers_;
  const Immediates* const immediates_;
  char *const scratch_, *const partials_;
  const int64_t size_;   // of a sum
  const int16_t value_;  // what is reduced
};

}  // namespace

int64_t scratch_bytes(const PreparedReduction& prepared) {
  return prepared.worker_bytes * prepared.elements.threads + prepared.partial_bytes;
}

void run_reduction(const ReduceGroup& group, const PreparedReduction& prepared,
                   void* const* buffers, const Immediates* immediates, char* scratch) {
  if (group.outer * group.inner == 0) return;
  ReductionRun(group, prepared, buffers, immediates, scratch).run();
}

}  // namespace mt::cpu
