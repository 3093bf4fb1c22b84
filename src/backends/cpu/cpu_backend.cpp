// SPDX-License-Identifier: Apache-2.0
// Runs plans on the CPU, group by group.
#include "backends/cpu/cpu_backend.h"

#include <algorithm>
#include <memory>
#include <variant>

#include "backends/cpu/call.h"
#include "backends/cpu/contract/matrix_unit/tiled_product.h"
#include "backends/cpu/contract_group.h"
#include "backends/cpu/description.h"
#include "backends/cpu/elementwise/work.h"
#include "backends/cpu/instruction_set.h"
#include "backends/cpu/parallel/float_mode.h"
#include "backends/cpu/parallel/parallel.h"
#include "backends/cpu/program/program.h"
#include "backends/cpu/program/reduce.h"
#include "backends/cpu/program/totals.h"
#include "backends/cpu/turn_hidden.h"
#include "backends/cpu/turn_shared_weights.h"
#include "backends/host_backend.h"
#include "backends/naive_arguments.h"
#include "base/rounding.h"

namespace mt::cpu {
namespace {

struct PreparedCall {
  CallKernel kernel;
  int threads = 1;  // that scratch has room for
};
// Nothing runs: the group that reads the result generates the parts that it needs.
struct MadeByReader {};

// What the backend prepares for a group. Plans have thousands, each as large as its kind.
template <class T>
using Pointer = std::unique_ptr<const T>;
using PreparedGroup = std::variant<Pointer<PreparedProgram>, Pointer<PreparedReduction>,
                                   Pointer<PreparedContractGroup>, PreparedCall, MadeByReader>;
struct PreparedPlan {
  std::vector<PreparedGroup> groups;
};

// Bytes that a prepared group holds besides the object itself.
size_t bytes_beside(const PreparedProgram& program) {
  return program.steps.size() * sizeof(Step) + program.slots.size() * sizeof(int64_t);
}
size_t bytes_beside(const PreparedReduction& reduction) { return bytes_beside(reduction.elements); }
size_t bytes_beside(const PreparedContractGroup& group) {
  size_t bytes = bytes_beside(group.epilogue) + static_cast<size_t>(group.contraction->bytes());
  if (group.padding) bytes += sizeof(Padding);
  if (group.turned) bytes += sizeof(TurnedEpilogue) + bytes_beside(group.turned->program);
  return bytes;
}

int64_t arguments_end(const CallGroup& call) { return round_up(argument_bytes(call), cache_line); }

// Runs a group of any kind.
struct GroupRun {
  const Plan& plan;
  const PreparedGroup& prepared;
  void* const* buffers;
  const Immediates* immediates;
  char* scratch;

  template <class T>
  const T& get() const {
    return *std::get<Pointer<T>>(prepared);
  }
  void operator()(const FusedProgram& group) const {
    run_program(get<PreparedProgram>(), group, buffers, immediates, scratch);
  }
  void operator()(const ReduceGroup& group) const {
    run_reduction(group, get<PreparedReduction>(), buffers, immediates, scratch);
  }
  void operator()(const ContractGroup& group) const {
    run_contract_group(plan, group, get<PreparedContractGroup>(), buffers, immediates, scratch);
  }
  void operator()(const CallGroup& group) const {
    const auto& [kernel, threads] = std::get<PreparedCall>(prepared);
    NaiveCall call = call_of(group, buffers, immediates, scratch);
    if (kernel.run_within) {
      kernel.run_within(call, scratch + arguments_end(group), threads);
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
      std::visit([&](const auto& work) { prepare(work); }, group.work);
    }
    share_scratch();
    return prepared_;
  }

 private:
  void prepare(const FusedProgram& group) {
    PreparedProgram ready = prepare_program(group, plan_->buffers, false);
    const int64_t scratch = scratch_of(ready, group);
    add(std::move(ready), scratch);
  }
  void prepare(const ReduceGroup& group) {
    PreparedReduction ready = prepare_reduction(group, plan_->buffers);
    const int64_t scratch = scratch_bytes(ready);
    add(std::move(ready), scratch);
  }
  void prepare(const ContractGroup& group) {
    PreparedContractGroup ready =
        prepare_contract_group(*plan_, group, static_cast<int>(prepared_->groups.size()));
    if (ready.padding) prepared_->groups[ready.padding->group] = MadeByReader();
    auto scratch = static_cast<int64_t>(ready.contraction->scratch());
    if (group.epilogue && !ready.in_tiles) {
      scratch = std::max(scratch, scratch_of(ready.epilogue, *group.epilogue));
    }
    add(std::move(ready), scratch);
  }
  void prepare(const CallGroup& group) {
    const PreparedCall ready{find_call_kernel(*group.op), thread_count()};
    int64_t scratch = arguments_end(group);
    if (ready.kernel.scratch) scratch += ready.kernel.scratch(group, ready.threads);
    add(ready, scratch, 0);
  }

  template <class T>
  void add(T ready, int64_t scratch) {
    const size_t bytes = sizeof(T) + bytes_beside(ready);
    add(std::make_unique<const T>(std::move(ready)), scratch, bytes);
  }
  void add(PreparedGroup ready, int64_t scratch, size_t bytes) {
    plan_->scratch_bytes = std::max(plan_->scratch_bytes, scratch);
    plan_->prepared_bytes += static_cast<int64_t>(sizeof(PreparedGroup) + bytes);
    prepared_->groups.push_back(std::move(ready));
  }

  // Gives each thread the same part of the scratch in every contraction.
  void share_scratch() {
    size_t part = 0;
    for (const PreparedGroup& group : prepared_->groups) {
      const auto* ready = std::get_if<Pointer<PreparedContractGroup>>(&group);
      if (ready) part = std::max(part, (*ready)->contraction->thread_scratch());
    }
    for (const PreparedGroup& group : prepared_->groups) {
      const auto* ready = std::get_if<Pointer<PreparedContractGroup>>(&group);
      if (!ready) continue;
      PreparedContraction& contraction = *(*ready)->contraction;
      contraction.extend_thread_scratch(part);
      const auto scratch = static_cast<int64_t>(contraction.scratch());
      plan_->scratch_bytes = std::max(plan_->scratch_bytes, scratch);
    }
  }

  static int64_t scratch_of(const PreparedProgram& prepared, const FusedProgram& group) {
    if (prepared.walk == Walk::elements) return 0;  // on the stack
    return prepared.scratch_bytes * prepared.threads + totals_bytes(prepared, group.segments[0]);
  }

  Plan* plan_;
  std::shared_ptr<PreparedPlan> prepared_;
};

class CpuBackend final : public HostBackend {
 public:
  CpuBackend() { choose_instruction_set(); }
  std::string description() const override {
    const int threads = thread_count();
    return model_name() + ", " + instruction_set_name() + ", " + std::to_string(threads) +
           (threads == 1 ? " thread" : " threads");
  }
  bool has_kernels_for(Precision precision) const override {
    return is_of_bfloat16(precision) && matrix_unit() >= TiledProduct::unit_for(precision);
  }
  uint64_t configuration() const override {
    return static_cast<uint64_t>(thread_count()) << 48 ^
           reinterpret_cast<uint64_t>(instruction_set());
  }

  void prepare(Plan* plan) override {
    turn_shared_weights(plan, thread_count());
    turn_hidden(plan, thread_count());
    plan->prepared = Preparation(plan).run();
  }

  void run(const Plan& plan, void* const* buffers, const Immediates* immediates, void* scratch,
           GroupWatch* watch) override {
    StandardFloatMode mode;
    const PreparedPlan& prepared = *static_cast<const PreparedPlan*>(plan.prepared.get());
    for (size_t g = 0; g < plan.groups.size(); ++g) {
      if (std::holds_alternative<MadeByReader>(prepared.groups[g])) continue;
      if (watch) watch->begins(g);
      std::visit(
          GroupRun{plan, prepared.groups[g], buffers, immediates, static_cast<char*>(scratch)},
          plan.groups[g].work);
      if (watch) watch->ends(g);
    }
  }

  int64_t panels_for_totals() const override { return 4; }
  int64_t most_padding_made() const override { return most_padding; }
  bool reads_padded() const override { return true; }
  // A row belongs to one thread; where rows are few, panels of long ones keep more threads busy.
  int64_t longest_row(int64_t rows) const override {
    return rows >= thread_count() ? cpu::longest_row : row_panel;
  }

  bool run_small(const Op& op, Dtype dtype, const SmallOperand* operands, void* output,
                 int64_t count) override {
    if (dtype == Dtype::boolean || needs_rounding(dtype)) return false;
    const auto code = static_cast<Elementwise>(op.code);
    if (work_of(code) * count >= 2 * grain_work && thread_count() > 1) return false;
    StandardFloatMode mode;
    const Input inputs[2] = {{operands[0].data, 0, operands[0].repeated},
                             {operands[1].data, 0, operands[1].repeated}};
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
