// SPDX-License-Identifier: Apache-2.0
// Runs plans on the CPU, group by group.
#include "backends/cpu/cpu_backend.h"

#include <algorithm>
#include <memory>

#include "backends/cpu/call.h"
#include "backends/cpu/contract/contract.h"
#include "backends/cpu/contract/matrix_unit/matrix_unit.h"
#include "backends/cpu/contract/windows/padding.h"
#include "backends/cpu/description.h"
#include "backends/cpu/parallel/float_mode.h"
#include "backends/cpu/parallel/parallel.h"
#include "backends/cpu/program/program.h"
#include "backends/cpu/program/reduce.h"
#include "backends/cpu/program/totals.h"
#include "backends/host_backend.h"
#include "backends/naive_arguments.h"
#include "base/rounding.h"
#include "tensor/first_byte.h"

namespace mt::cpu {
namespace {

bool finishes_tiles(const ContractGroup& group) {
  return group.epilogue && group.epilogue->segments[0].columns <= 1;
}

// Where the epilogue finds the result, if it reads it element by element and nobody else does.
int memory_that_passes(const ContractGroup& group) {
  if (!group.passes || !finishes_tiles(group)) return -1;
  const std::vector<Memory>& memory = group.epilogue->segments[0].memory;
  const auto is_result = [&](const Memory& m) { return m.buffer == group.output.buffer; };
  if (group.epilogue->segments.size() > 1 ||
      std::count_if(memory.begin(), memory.end(), is_result) != 1)
    return -1;
  const auto found = std::find_if(memory.begin(), memory.end(), is_result);
  const bool in_order = found->contiguous && !found->row && found->layout.offset == 0;
  return in_order ? static_cast<int>(found - memory.begin()) : -1;
}

// An element-wise epilogue runs on each tile of the result while it is in cache; row by row where
// some operand is the same for all rows.
struct TileEpilogue {
  const PreparedProgram& prepared;
  const Segment& segment;
  void* const* buffers;
  const Immediates* immediates;
  int64_t m, n;
  int passing;  // the memory that stands for the result, if its rows pass by; else -1

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
      if (tile.passing) program.move_memory(self.passing, tile.passing, at);
      for (; at < end; at += most) program.run(at, std::min(most, end - at));
      return;
    }
    int64_t longest = width == self.n ? (tile.row_end - tile.row_begin) * width : width;
    int64_t most = std::min(longest, self.prepared.tile_rows);
    ProgramRun program(self.prepared, self.segment, self.buffers, self.immediates, registers, most);
    if (tile.passing) {
      program.move_memory(self.passing, tile.passing,
                          (tile.batch * self.m + tile.row_begin) * self.n);
    }
    // A part of a row ends too soon for the processor to foresee the next row's, which is fetched.
    auto span = [&](int64_t first, int64_t count, bool more_rows) {
      for (int64_t done = 0; done < count; done += most) {
        const int64_t piece = std::min(most, count - done), at = first + done;
        program.run(at, piece, at + self.n, more_rows ? piece : 0);
      }
    };
    int64_t first_row = tile.batch * self.m;
    if (width == self.n) {
      span((first_row + tile.row_begin) * self.n, (tile.row_end - tile.row_begin) * self.n, false);
      return;
    }
    for (int64_t row = tile.row_begin; row < tile.row_end; ++row) {
      span((first_row + row) * self.n + tile.column_begin, width, row + 1 < tile.row_end);
    }
  }
};

char* element(void* const* buffers, const Operand& operand) {
  return static_cast<char*>(buffers[operand.buffer]) + first_byte(operand);
}

// What the backend makes of a group beforehand.
struct PreparedGroup {
  PreparedProgram program;
  PreparedReduction reduction;
  CallKernel call;
  int threads = 1;       // of a call, for which there is scratch
  Padding padding;       // of a contraction's second operand
  bool skipped = false;  // the padding is made by who reads it
  int passing = -1;      // of a contraction's epilogue: the memory whose rows may pass by
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
  static int64_t make_terms(const void* context, int64_t begin, int64_t end, void* to) {
    auto& self = *static_cast<const PaddedEntries*>(context);
    return pad_lines(self.plan, self.padding, self.buffers, self.immediates, begin, end, to);
  }
  double fill() const {
    const CallGroup& pad = padding_call(plan, padding);
    return __builtin_bit_cast(double, immediates[pad.immediate].value[0]);
  }
};

int64_t arguments_end(const CallGroup& call) { return round_up(argument_bytes(call), cache_line); }

// Runs a group of any kind.
struct GroupRun {
  const Plan& plan;
  const PreparedGroup& prepared;
  void* const* buffers;
  const Immediates* immediates;
  char* scratch;

  void operator()(const FusedProgram& group) const {
    run_program(prepared.program, group.segments, buffers, immediates, scratch);
  }
  void operator()(const ReduceGroup& group) const {
    run_reduction(group, prepared.reduction, buffers, immediates, scratch);
  }
  void operator()(const ContractGroup& group) const {
    const PaddedEntries entries{plan, prepared.padding, buffers, immediates};
    EntrySource making{PaddedEntries::make, PaddedEntries::find, PaddedEntries::make_terms,
                       &entries, bool{prepared.padding.lines}};
    const EntrySource* source = prepared.padding.group >= 0 ? &making : nullptr;
    if (source) making.fill = entries.fill();
    const void* a = element(buffers, group.a);
    const void* b = element(buffers, group.b);
    void* out = buffers[group.output.buffer];
    if (!finishes_tiles(group)) {
      prepared.contraction->run(a, b, out, scratch, nullptr, source);
      if (group.epilogue) (*this)(*group.epilogue);
      return;
    }
    const PreparedProgram& program = prepared.program;
    TileEpilogue context{
        program,
        program.by_columns.empty() ? group.epilogue->segments[0] : program.by_columns[0],
        buffers,
        immediates,
        size_of_group(group.contraction.m),
        size_of_group(group.contraction.n),
        prepared.passing};
    Epilogue epilogue{TileEpilogue::run, &context};
    prepared.contraction->run(a, b, out, scratch, &epilogue, source);
  }
  void operator()(const CallGroup& group) const {
    NaiveCall call = call_of(group, buffers, immediates, scratch);
    const CallKernel& kernel = prepared.call;
    if (kernel.run_within) {
      kernel.run_within(call, scratch + arguments_end(group), prepared.threads);
    } else {
      kernel.run ? kernel.run(call) : naive_value(call);
    }
  }
};

// Makes the groups of a plan ready, one after another.
class Preparation {
 public:
  explicit Preparation(Plan* plan) : plan_(plan), prepared_(std::make_shared<PreparedPlan>()) {}

  std::shared_ptr<const PreparedPlan> run() {
    for (const Group& group : plan_->groups) {
      PreparedGroup ready;
      const int64_t scratch =
          std::visit([&](const auto& work) { return prepare(work, &ready); }, group.work);
      plan_->scratch_bytes = std::max(plan_->scratch_bytes, scratch);
      plan_->prepared_bytes += static_cast<int64_t>(sizeof ready + bytes_beside(ready.program) +
                                                    bytes_beside(ready.reduction.elements));
      prepared_->groups.push_back(std::move(ready));
    }
    return prepared_;
  }

 private:
  // Each returns the scratch that the group needs.
  int64_t prepare(const FusedProgram& group, PreparedGroup* ready) const {
    ready->program = prepare_program(group, plan_->buffers, false);
    return scratch_of_rows(ready->program, group);
  }
  int64_t prepare(const ReduceGroup& group, PreparedGroup* ready) const {
    ready->reduction = prepare_reduction(group, plan_->buffers);
    return scratch_bytes(ready->reduction);
  }
  int64_t prepare(const ContractGroup& group, PreparedGroup* ready) const {
    ready->padding = find_padding(*plan_, static_cast<int>(prepared_->groups.size()));
    const bool pads = ready->padding.group >= 0;
    EntryParts parts;
    if (pads) {
      parts = parts_of_entry(*plan_, ready->padding);
      prepared_->groups[ready->padding.group].skipped = true;
    }
    ready->passing = memory_that_passes(group);
    ready->contraction = std::make_unique<const PreparedContraction>(
        of_entries(group.contraction, ready->padding), thread_count(), pads ? &parts : nullptr,
        ready->passing >= 0);
    plan_->prepared_bytes += ready->contraction->bytes();
    const auto scratch = static_cast<int64_t>(ready->contraction->scratch());
    if (!group.epilogue) return scratch;
    const bool in_tiles = finishes_tiles(group);
    ready->program = prepare_program(*group.epilogue, plan_->buffers, in_tiles,
                                     size_of_group(group.contraction.n));
    return in_tiles ? scratch : std::max(scratch, scratch_of_rows(ready->program, *group.epilogue));
  }
  int64_t prepare(const CallGroup& group, PreparedGroup* ready) const {
    ready->call = find_call_kernel(*group.op);
    ready->threads = thread_count();
    const int64_t arguments = arguments_end(group);
    return ready->call.scratch ? arguments + ready->call.scratch(group, ready->threads) : arguments;
  }

  static int64_t scratch_of_rows(const PreparedProgram& prepared, const FusedProgram& group) {
    if (!prepared.by_rows) return 0;
    return prepared.scratch_bytes * prepared.threads + totals_bytes(prepared, group.segments[0]);
  }

  Plan* plan_;
  std::shared_ptr<PreparedPlan> prepared_;
};

class CpuBackend final : public HostBackend {
 public:
  std::string description() const override {
    const int threads = thread_count();
    return model_name() + ", " + instruction_set_name() + ", " + std::to_string(threads) +
           (threads == 1 ? " thread" : " threads");
  }
  bool has_kernels_for(Precision precision) const override {
    return is_of_bfloat16(precision) && matrix_unit_available();
  }
  uint64_t configuration() const override {
    return static_cast<uint64_t>(thread_count()) << 48 ^
           reinterpret_cast<uint64_t>(instruction_set());
  }

  void prepare(Plan* plan) override { plan->prepared = Preparation(plan).run(); }

  void run(const Plan& plan, void* const* buffers, const Immediates* immediates, void* scratch,
           GroupWatch* watch) override {
    StandardFloatMode mode;
    const PreparedPlan& prepared = *static_cast<const PreparedPlan*>(plan.prepared.get());
    for (size_t g = 0; g < plan.groups.size(); ++g) {
      if (prepared.groups[g].skipped) continue;
      if (watch) watch->begins(g);
      std::visit(
          GroupRun{plan, prepared.groups[g], buffers, immediates, static_cast<char*>(scratch)},
          plan.groups[g].work);
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
