// SPDX-License-Identifier: Apache-2.0
// Runs plans on the CPU, group by group.
#include "backends/cpu/cpu_backend.h"

#include <algorithm>
#include <memory>

#include "backends/cpu/call.h"
#include "backends/cpu/contract/contract.h"
#include "backends/cpu/contract/windows/padding.h"
#include "backends/cpu/parallel/float_mode.h"
#include "backends/cpu/parallel/parallel.h"
#include "backends/cpu/program/program.h"
#include "backends/cpu/program/reduce.h"
#include "backends/cpu/program/totals.h"
#include "backends/host_backend.h"
#include "backends/naive_arguments.h"
#include "base/rounding.h"

namespace mt::cpu {
namespace {

bool finishes_tiles(const Group& group) {
  return group.has_epilogue && group.segments[0].columns <= 1;
}

// An element-wise epilogue runs on each tile of the result while it is in cache; row by row where
// some operand is the same for all rows.
struct TileEpilogue {
  const PreparedProgram& prepared;
  const Segment& segment;
  void* const* buffers;
  const Immediates* immediates;
  int64_t m, n;

  static void run(void* context, const Tile& tile) {
    auto& self = *static_cast<TileEpilogue*>(context);
    alignas(64) char registers[stack_registers];
    const int64_t width = tile.column_end - tile.column_begin;
    if (self.prepared.by_rows) {
      int64_t at = tile.batch * self.m + tile.row_begin;
      const int64_t end = tile.batch * self.m + tile.row_end;
      const int64_t most = width == self.n ? std::min(end - at, self.prepared.tile_rows) : 1;
      ProgramRun program(self.prepared, self.segment, self.buffers, self.immediates, registers,
                         most, tile.column_begin, width);
      for (; at < end; at += most) program.run(at, std::min(most, end - at));
      return;
    }
    int64_t longest = width == self.n ? (tile.row_end - tile.row_begin) * width : width;
    int64_t most = std::min(longest, self.prepared.tile_rows);
    ProgramRun program(self.prepared, self.segment, self.buffers, self.immediates, registers, most);
    auto span = [&](int64_t first, int64_t count) {
      for (int64_t done = 0; done < count; done += most) {
        program.run(first + done, std::min(most, count - done));
      }
    };
    int64_t first_row = tile.batch * self.m;
    if (width == self.n) {
      span((first_row + tile.row_begin) * self.n, (tile.row_end - tile.row_begin) * self.n);
      return;
    }
    for (int64_t row = tile.row_begin; row < tile.row_end; ++row) {
      span((first_row + row) * self.n + tile.column_begin, width);
    }
  }
};

char* element(void* const* buffers, const Operand& operand) {
  return static_cast<char*>(buffers[operand.buffer]) +
         operand.layout.offset * static_cast<int64_t>(size_of(operand.dtype));
}

// What the backend makes of a group beforehand.
struct PreparedGroup {
  PreparedProgram program;
  PreparedReduction reduction;
  CallKernel call;
  int threads = 1;       // of a call, for which there is scratch
  Padding padding;       // of a contraction's second operand
  bool skipped = false;  // the padding is made by who reads it
  std::unique_ptr<const PreparedContraction> contraction;
};
struct PreparedPlan {
  std::vector<PreparedGroup> groups;
};

// What a group holds besides itself, of any size.
size_t bytes_beside(const PreparedProgram& program) {
  return program.steps.size() * sizeof(Step) + program.by_columns.size() * sizeof(Segment) +
         program.slots.size() * sizeof(int64_t);
}

// Makes the padding of one entry when it is wanted.
struct PaddedEntries {
  const Plan& plan;
  const Padding& padding;
  void* const* buffers;
  const Immediates* immediates;

  static void make(const void* context, int64_t offset, void* to) {
    auto& self = *static_cast<const PaddedEntries*>(context);
    pad_entry(self.plan, self.padding, self.buffers, self.immediates, offset, to);
  }
  static const void* find(const void* context, int64_t offset) {
    auto& self = *static_cast<const PaddedEntries*>(context);
    return find_entry(self.plan, self.padding, self.buffers, offset);
  }
  double fill() const {
    const Group& group = plan.groups[static_cast<size_t>(padding.group)];
    return __builtin_bit_cast(double, immediates[group.immediate].value[0]);
  }
};

void run_contraction(const Plan& plan, const Group& group, const PreparedGroup& prepared,
                     void* const* buffers, const Immediates* immediates, char* scratch) {
  const PaddedEntries entries{plan, prepared.padding, buffers, immediates};
  EntrySource making{PaddedEntries::make, PaddedEntries::find, &entries};
  const EntrySource* source = prepared.padding.group >= 0 ? &making : nullptr;
  if (source) making.fill = entries.fill();
  const void* a = element(buffers, group.inputs[0]);
  const void* b = element(buffers, group.inputs[1]);
  void* out = buffers[group.output.buffer];
  if (!finishes_tiles(group)) {
    prepared.contraction->run(a, b, out, scratch, nullptr, source);
    if (group.has_epilogue) {
      run_program(prepared.program, group.segments, buffers, immediates, scratch);
    }
    return;
  }
  const PreparedProgram& program = prepared.program;
  TileEpilogue context{program,
                       program.by_columns.empty() ? group.segments[0] : program.by_columns[0],
                       buffers,
                       immediates,
                       size_of_group(group.contraction.m),
                       size_of_group(group.contraction.n)};
  Epilogue epilogue{TileEpilogue::run, &context};
  prepared.contraction->run(a, b, out, scratch, &epilogue, source);
}

int64_t arguments_end(const Group& group) { return round_up(argument_bytes(group), cache_line); }

void run_call(const Group& group, const PreparedGroup& prepared, void* const* buffers,
              const Immediates* immediates, char* scratch) {
  NaiveCall call = call_of(group, buffers, immediates, scratch);
  const CallKernel& kernel = prepared.call;
  if (kernel.run_within) {
    kernel.run_within(call, scratch + arguments_end(group), prepared.threads);
  } else {
    kernel.run ? kernel.run(call) : naive_value(call);
  }
}

void run_group(const Plan& plan, const Group& group, const PreparedGroup& prepared,
               void* const* buffers, const Immediates* immediates, char* scratch) {
  switch (group.kind) {
    case GroupKind::contract:
      run_contraction(plan, group, prepared, buffers, immediates, scratch);
      break;
    case GroupKind::reduce:
      run_reduction(group, prepared.reduction, buffers, immediates, scratch);
      break;
    case GroupKind::call: run_call(group, prepared, buffers, immediates, scratch); break;
    case GroupKind::map:
    case GroupKind::row:
      run_program(prepared.program, group.segments, buffers, immediates, scratch);
  }
}

class CpuBackend final : public HostBackend {
 public:
  uint64_t configuration() const override {
    return static_cast<uint64_t>(thread_count()) << 48 ^
           reinterpret_cast<uint64_t>(instruction_set());
  }

  void prepare(Plan* plan) override {
    auto prepared = std::make_shared<PreparedPlan>();
    for (size_t g = 0; g < plan->groups.size(); ++g) {
      const Group& group = plan->groups[g];
      PreparedGroup ready;
      int64_t scratch = 0;
      int64_t row_elements = 0;
      if (group.kind == GroupKind::contract) {
        ready.padding = find_padding(*plan, static_cast<int>(g));
        const bool pads = ready.padding.group >= 0;
        EntryParts parts;
        if (pads) {
          parts = parts_of_entry(*plan, ready.padding);
          prepared->groups[static_cast<size_t>(ready.padding.group)].skipped = true;
        }
        ready.contraction = std::make_unique<const PreparedContraction>(
            of_entries(group.contraction, ready.padding), thread_count(), pads ? &parts : nullptr);
        plan->prepared_bytes += ready.contraction->bytes();
        scratch = static_cast<int64_t>(ready.contraction->scratch());
        row_elements = size_of_group(group.contraction.n);
      }
      if (group.kind == GroupKind::map || group.kind == GroupKind::row || group.has_epilogue) {
        const bool in_tiles = finishes_tiles(group);
        ready.program = prepare_program(group, plan->buffers, in_tiles, row_elements);
        if (ready.program.by_rows && !in_tiles) {
          int64_t needed = ready.program.scratch_bytes * ready.program.threads +
                           totals_bytes(ready.program, group.segments[0]);
          scratch = std::max(scratch, needed);
        }
      }
      if (group.kind == GroupKind::reduce) {
        ready.reduction = prepare_reduction(group, plan->buffers);
        scratch = scratch_bytes(ready.reduction);
      } else if (group.kind == GroupKind::call) {
        ready.call = find_call_kernel(*group.op);
        ready.threads = thread_count();
        scratch = arguments_end(group);
        if (ready.call.scratch) scratch += ready.call.scratch(group, ready.threads);
      }
      plan->scratch_bytes = std::max(plan->scratch_bytes, scratch);
      plan->prepared_bytes += static_cast<int64_t>(sizeof ready + bytes_beside(ready.program) +
                                                   bytes_beside(ready.reduction.elements));
      prepared->groups.push_back(std::move(ready));
    }
    plan->prepared = prepared;
  }

  void run(const Plan& plan, void* const* buffers, const Immediates* immediates, void* scratch,
           GroupWatch* watch) override {
    StandardFloatMode mode;
    const PreparedPlan& prepared = *static_cast<const PreparedPlan*>(plan.prepared.get());
    for (size_t g = 0; g < plan.groups.size(); ++g) {
      if (prepared.groups[g].skipped) continue;
      if (watch) watch->begins(g);
      run_group(plan, plan.groups[g], prepared.groups[g], buffers, immediates,
                static_cast<char*>(scratch));
      if (watch) watch->ends(g);
    }
  }

  int64_t panels_for_totals() const override { return 4; }

  bool run_small(const Op& op, Dtype dtype, const SmallOperand* operands, void* output,
                 int64_t count) override {
    if (dtype == Dtype::boolean || needs_rounding(dtype)) return false;
    StandardFloatMode mode;
    const Input inputs[2] = {{operands[0].data, 0, operands[0].repeated},
                             {operands[1].data, 0, operands[1].repeated}};
    const auto code = static_cast<Elementwise>(op.code);
    elementwise_operator(code, compute_of(dtype))(output, inputs, 1, count);
    return true;
  }
};

}  // namespace

Backend& backend() {
  static CpuBackend backend;
  return backend;
}

}  // namespace mt::cpu
