// SPDX-License-Identifier: Apache-2.0
// Row groups: element-wise work over rows, reductions of whole rows, and what follows from them.
//
// Idea: a warp takes a row. Lane l owns columns l, l + 32, ...: what it computes for them no other
// lane ever needs, so the program runs one instruction after another over the whole row with no
// barrier but in reductions. There the lanes' sums, which are the 32 lanes of ops/order.h, are
// combined by halving.
//
// Where rows make totals a warp takes a panel of them (ops/order.h), and each lane adds to its own
// columns' sums, in device memory, row by row; reduce.cu combines the panels.
//
// Shapes: registers hold a value for each column in device memory, which for rows of usual length
// stays in the cache. As many warps run as there is scratch for; each takes row after row.
#include "backends/cuda/kernels.h"
#include "backends/cuda/program/interpreter.h"

namespace mt::cuda {
namespace {

constexpr int warps = 4;  // in a block
constexpr unsigned all_lanes = 0xffffffff;

struct RowRun {
  const ProgramView& program;
  const SegmentView& segment;
  RowRegisters registers;
  int lane;

  __device__ Value reduce(const Instruction& i, int64_t row) {
    return with_compute(i.type, [&](auto x) {
      using T = decltype(x);
      Reduction reduction = static_cast<Reduction>(i.detail);
      x = identity_of<T>(reduction);
      for (int64_t column = lane; column < segment.columns; column += 32) {
        registers.column = column;
        Value value = read_place(segment, registers, i.in[0], row * segment.columns + column);
        x = combine(reduction, x, unpack<T>(value));
      }
      x = combine_lanes(reduction, x);
      return pack(__shfl_sync(all_lanes, x, 0));
    });
  }

  // A row value is known to all lanes: each keeps it in the column of its own number.
  __device__ void run_row_value(const Instruction& i, int64_t row) {
    Value value;
    if (i.code == Opcode::reduce) {
      value = reduce(i, row);
      registers.column = lane;
    } else {
      registers.column = lane;
      value = evaluate(segment, registers, i, row);
    }
    int place = i.code == Opcode::store ? ~i.index : i.out;
    if (place >= 0) return registers.set(place, value);
    __syncwarp();  // all have read before one writes
    if (lane == 0) write_place(segment, registers, place, row, value);
    __syncwarp();
  }

  __device__ void run_element_value(const Instruction& i, int64_t row) {
    Value expanded = 0;
    if (i.code == Opcode::expand) {
      registers.column = lane;
      expanded = read_place(segment, registers, i.in[0], row);
    }
    int place = i.code == Opcode::store ? ~i.index : i.out;
    for (int64_t column = lane; column < segment.columns; column += 32) {
      registers.column = column;
      int64_t at = row * segment.columns + column;
      Value value = i.code == Opcode::expand ? expanded : evaluate(segment, registers, i, at);
      write_place(segment, registers, place, at, value);
    }
  }

  // Calls f(place, column) for the panel's part of a total, column by column.
  template <class F>
  __device__ void for_total(const Instruction& i, int64_t panel, F&& f) {
    const PanelsView& panels = view(program.panels);
    Value* own = panels.partials + (i.index * panels.count + panel) * segment.columns;
    for (int64_t column = lane; column < segment.columns; column += 32) f(own + column, column);
  }

  __device__ void begin_total(const Instruction& i, int64_t panel) {
    with_compute(i.type, [&](auto x) {
      x = identity_of<decltype(x)>(static_cast<Reduction>(i.detail));
      for_total(i, panel, [&](Value* place, int64_t) { store(place, 0, pack(x)); });
    });
  }

  __device__ void add_to_total(const Instruction& i, int64_t panel, int64_t row) {
    with_compute(i.type, [&](auto x) {
      using T = decltype(x);
      for_total(i, panel, [&](Value* place, int64_t column) {
        registers.column = column;
        Value value = read_place(segment, registers, i.in[0], row * segment.columns + column);
        x = combine(static_cast<Reduction>(i.detail), unpack<T>(load(place)), unpack<T>(value));
        store(place, 0, pack(x));
      });
    });
  }

  // Values that are the same for all rows fill their registers once.
  __device__ void run_once() {
    for (int k = 0; k < program.once; ++k) {
      const Instruction& i = view(program.instructions, k);
      Value value = evaluate(segment, registers, i, 0);
      for (int64_t column = lane; column < registers.stride; column += 32) {
        registers.column = column;
        registers.set(i.out, value);
      }
    }
  }

  __device__ void run(int64_t row, int64_t panel) {
    for (int k = program.once; k < program.count; ++k) {
      const Instruction& i = view(program.instructions, k);
      if (i.code == Opcode::total)
        add_to_total(i, panel, row);
      else
        i.row ? run_row_value(i, row) : run_element_value(i, row);
    }
  }

  __device__ void run_panel(int64_t panel) {
    const PanelsView& panels = view(program.panels);
    for (int k = program.once; k < program.count; ++k) {
      const Instruction& i = view(program.instructions, k);
      if (i.code == Opcode::total) begin_total(i, panel);
    }
    int64_t first = panel * panels.panel, end = first + panels.panel;
    if (end > panels.reduced) end = panels.reduced;
    for (int64_t row = first; row < end; ++row) run(row, panel);
  }
};

__global__ void __launch_bounds__(32 * warps)
    row_kernel(const ProgramView* group, Value* scratch, int64_t slots) {
  const ProgramView& program = view(group);
  const SegmentView& segment = view(program.segments);
  int64_t slot = int64_t{blockIdx.x} * warps + threadIdx.x / 32;
  int64_t stride = row_stride(segment.columns);
  RowRun run{program,
             segment,
             {scratch + slot * program.registers * stride, stride, 0},
             static_cast<int>(threadIdx.x % 32)};
  int64_t tasks = program.panels ? view(program.panels).count : segment.rows;
  if (slot < tasks) run.run_once();
  for (int64_t task = slot; task < tasks; task += slots) {
    program.panels ? run.run_panel(task) : run.run(task, 0);
  }
}

}  // namespace

void launch_row(const ProgramView* program, Value* scratch, int64_t slots, Stream stream) {
  launch("row", row_kernel, {static_cast<unsigned>(slots / warps)}, {32 * warps}, 0, stream,
         program, scratch, slots);
}

}  // namespace mt::cuda
