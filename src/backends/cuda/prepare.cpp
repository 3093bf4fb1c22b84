// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/prepare.h"

#include <algorithm>

#include "backends/cuda/call.h"
#include "backends/cuda/contract_choice.h"
#include "backends/cuda/generate.h"
#include "backends/cuda/generated.h"
#include "backends/cuda/prepare_contract.h"
#include "ops/order.h"
#include "tensor/error.h"

namespace mt::cuda {
namespace {

// Rows' registers may take so much; with less, fewer rows are under way at once.
constexpr int64_t most_row_scratch = 64 << 20;
constexpr int64_t warps_per_processor = 32;
// Those of generated kernels need no scratch, but read their rows several times: as many are under
// way as the first-level cache has room for, and enough for memory not to wait for them.
constexpr int64_t least_generated_warps = 16, most_generated_warps = 64;
constexpr int64_t first_level_bytes = 128 << 10;

int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

int64_t first_byte(const Operand& operand) {
  return operand.layout.offset * static_cast<int64_t>(size_of(operand.dtype));
}

class Preparation {
 public:
  Preparation(const Plan& plan, int device, const Properties& properties)
      : plan_(plan),
        device_(device),
        properties_(properties),
        processors_(properties.processors),
        prepared_(std::make_shared<PreparedPlan>()) {}

  std::shared_ptr<PreparedPlan> run() {
    for (const Group& group : plan_.groups) {
      switch (group.kind) {
        case GroupKind::map:
          add_program(group);
          break;
        case GroupKind::row:
          add_program(group);
          break;
        case GroupKind::reduce:
          add_reduction(group);
          break;
        case GroupKind::contract:
          add_contraction(group);
          break;
        case GroupKind::call:
          prepared_->groups.push_back(prepare_call(group, &block(), &prepared_->scratch));
          break;
      }
      prepared_->ends.push_back(prepared_->groups.size());
    }
    return prepared_;
  }

 private:
  Block& block() { return prepared_->block; }
  void need_scratch(int64_t bytes) { prepared_->scratch = std::max(prepared_->scratch, bytes); }
  template <class F>
  void add(F&& f) {
    prepared_->groups.push_back(std::forward<F>(f));
  }

  int64_t describe_segment_memory(const Segment& segment) {
    std::vector<MemoryView> views;
    for (const Memory& memory : segment.memory) {
      MemoryView view{};
      view.offset = memory.layout.offset;
      view.layout = layout_view(memory.layout);
      view.dtype = memory.dtype;
      view.contiguous = memory.contiguous;
      views.push_back(view);
    }
    int64_t at = block().add(views);
    for (size_t m = 0; m < views.size(); ++m) {
      const Memory& memory = segment.memory[m];
      if (memory.buffer < 0) continue;
      block().show_buffer(
          at + static_cast<int64_t>(m * sizeof(MemoryView) + offsetof(MemoryView, data)),
          memory.buffer, memory.layout.offset * static_cast<int64_t>(size_of(memory.dtype)));
    }
    return at;
  }

  // Returns where the ProgramView lies, and counts the tiles.
  int64_t describe(const Program& program, const std::vector<Segment>& segments, int64_t* tiles) {
    std::vector<SegmentView> views;
    std::vector<int64_t> memory, constants;
    *tiles = 0;
    for (const Segment& segment : segments) {
      memory.push_back(describe_segment_memory(segment));
      std::vector<ConstantView> numbers(segment.constants.size());
      constants.push_back(block().add(numbers));
      for (size_t c = 0; c < numbers.size(); ++c) {
        block().take_immediate(constants.back() + static_cast<int64_t>(c * sizeof(ConstantView)),
                               segment.constants[c]);
      }
      views.push_back({segment.rows, segment.columns, *tiles, nullptr, nullptr});
      *tiles += divide_up(segment.rows * segment.columns, map_tile);
    }
    int64_t at = block().add(views);
    for (size_t s = 0; s < views.size(); ++s) {
      int64_t own = at + static_cast<int64_t>(s * sizeof(SegmentView));
      block().show_block(own + offsetof(SegmentView, memory), memory[s]);
      block().show_block(own + offsetof(SegmentView, constants), constants[s]);
    }
    int64_t instructions = block().add(program.instructions);
    ProgramView whole{nullptr,
                      nullptr,
                      static_cast<int32_t>(program.instructions.size()),
                      program.once,
                      std::max(program.registers, 1),
                      static_cast<int32_t>(segments.size())};
    int64_t result = block().add(whole);
    block().show_block(result + offsetof(ProgramView, instructions), instructions);
    block().show_block(result + offsetof(ProgramView, segments), at);
    return result;
  }

  // The kernel of its own that the group will have; nullptr if none.
  const Generated* request(const Group& group) {
    if (!generates()) return nullptr;
    bool row = group.segments.size() == 1 && group.segments[0].columns != 1;
    std::string text =
        generate(group.program, group.segments[0], row ? GroupKind::row : GroupKind::map);
    return &request_kernel(device_, text);
  }

  void add_program(const Group& group) {
    int registers = group.program.registers;
    if (registers > most_registers) {
      fail(Code::unsupported, "a group of %d values at once is too large for a GPU", registers);
    }
    int64_t tiles = 0, at = describe(group.program, group.segments, &tiles);
    const Segment& segment = group.segments[0];
    if (group.segments.size() > 1 || segment.columns == 1) {
      if (tiles == 0) return add([](const Run&) {});
      const Generated* generated = request(group);
      return add([=](const Run& run) {
        const auto* program = run.description<ProgramView>(at);
        Kernel* kernel = generated ? generated->kernel() : nullptr;
        if (!kernel) return launch_map(program, registers, tiles, run.stream);
        launch_compiled(kernel, "map", static_cast<unsigned>(tiles), generated_threads, run.stream,
                        program);
      });
    }
    if (segment.rows == 0) return add([](const Run&) {});
    int64_t bytes = std::max(registers, 1) * row_stride(segment.columns) * 8;
    int64_t slots = std::min(segment.rows, processors_ * warps_per_processor);
    slots = std::clamp<int64_t>(most_row_scratch / bytes, 4, divide_up(slots, 4) * 4) / 4 * 4;
    need_scratch(slots * bytes);
    const Generated* generated = request(group);
    int64_t row_bytes = 1;
    for (const Memory& memory : segment.memory) {
      row_bytes += segment.columns * static_cast<int64_t>(size_of(memory.dtype));
    }
    int64_t together =
        std::clamp(first_level_bytes / row_bytes, least_generated_warps, most_generated_warps);
    int64_t warps = std::min(segment.rows, processors_ * together);
    int64_t blocks = divide_up(warps * 32, generated_threads);
    add([=](const Run& run) {
      const auto* program = run.description<ProgramView>(at);
      if (Kernel* kernel = generated ? generated->kernel() : nullptr) {
        return launch_compiled(kernel, "row", static_cast<unsigned>(blocks), generated_threads,
                               run.stream, program);
      }
      launch_row(program, reinterpret_cast<uint64_t*>(run.scratch), slots, run.stream);
    });
  }

  void add_reduction(const Group& group) {
    int64_t tiles = 0, at = describe(group.program, group.segments, &tiles);
    ReductionShape shape{};
    shape.outer = group.outer;
    shape.reduced = group.reduced;
    shape.inner = group.inner;
    shape.panel = group.in_lanes ? row_panel : column_panel(group.outer * group.inner);
    shape.panels = std::max<int64_t>(1, divide_up(group.reduced, shape.panel));
    shape.reduction = group.reduction;
    shape.type = group.type;
    shape.in_lanes = group.in_lanes;
    need_scratch(shape.outer * shape.panels * shape.inner * 8);
    int registers = group.program.registers;
    int out = group.output.buffer;
    Dtype dtype = group.output.dtype;
    add([=](const Run& run) {
      launch_reduce(run.description<ProgramView>(at), registers, shape,
                    reinterpret_cast<uint64_t*>(run.scratch), run.buffers[out], dtype, run.stream);
    });
  }

  void add_contraction(const Group& group) {
    const Contraction& c = group.contraction;
    const ContractionShape shape = contraction_shape(c);
    const ContractionView view = contraction_view(c, shape);
    const bool split = is_split(c, shape);
    int64_t slabs = 0;
    if (shape.panels > 1) {
      slabs =
          shape.batch * shape.panels * shape.m * shape.n * static_cast<int64_t>(size_of(shape.sum));
      slabs = divide_up(slabs, 256) * 256;
    }
    const SplitScratch beside = split ? split_scratch(shape) : SplitScratch{};
    need_scratch(slabs + beside.end);

    // What follows element by element has a kernel of its own as soon as that is compiled, and is
    // interpreted within the contraction until then, if it is small enough.
    const Program& program = group.program;
    bool within = group.has_epilogue && group.segments[0].columns == 1 &&
                  program.registers <= epilogue_registers;
    int64_t epilogue = -1, tiles = 0;
    if (within) epilogue = describe(program, group.segments, &tiles);
    const Generated* generated = within && tiles > 0 ? request(group) : nullptr;
    const Operand &a = group.inputs[0], &b = group.inputs[1];

    struct Described {
      int64_t call, parts;
    };
    auto describe_contraction = [&](bool finishes) {
      auto show = [&](int64_t at) {
        block().show_buffer(at + offsetof(ContractionView, out), group.output.buffer, 0);
        block().show_scratch(at + offsetof(ContractionView, slabs), 0);
        if (finishes) block().show_block(at + offsetof(ContractionView, epilogue), epilogue);
        if (!split) return;
        block().show_scratch(at + offsetof(ContractionView, refused), slabs + beside.refused);
      };
      Described at{block().add(view), -1};
      show(at.call);
      block().show_buffer(at.call + offsetof(ContractionView, a), a.buffer, first_byte(a));
      block().show_buffer(at.call + offsetof(ContractionView, b), b.buffer, first_byte(b));
      if (!split) return at;
      static_assert(offsetof(SplitView, product) == 0);
      at.parts = block().add(split_view(view, shape));
      show(at.parts);
      block().show_scratch(at.parts + offsetof(ContractionView, a), slabs + beside.a);
      block().show_scratch(at.parts + offsetof(ContractionView, b), slabs + beside.b);
      block().show_scratch(at.parts + offsetof(SplitView, seen), slabs + beside.seen);
      return at;
    };
    auto choice = std::make_shared<ContractChoice>(group, shape, properties_);
    const bool on_units = choice->knows_tensor_cores(), hopper = choice->knows_hopper();
    HopperArrays narrow{}, wide{};
    if (hopper) {
      auto arrays = [&](int columns) {
        return split ? hopper_split_arrays(shape, split_view(view, shape), columns)
                     : hopper_arrays(c, columns);
      };
      narrow = arrays(128);
      wide = arrays(256);
    }
    const Described whole = describe_contraction(within);
    const bool divides = within && (generated || hopper || choice->is_open());
    const Described bare = divides ? describe_contraction(false) : whole;
    const int buffers[2] = {a.buffer, b.buffer}, registers = program.registers;
    const int64_t bytes[2] = {first_byte(a), first_byte(b)}, processors = processors_;

    auto launch_product = [=](const Run& run, ContractKernel kernel, const Described& at) {
      const auto* call = run.description<ContractionView>(at.call);
      char* parts = run.scratch + slabs;
      HopperOperands operands{};
      if (is_hopper(kernel)) {
        const bool is_wide = kernel == ContractKernel::hopper_128x256;
        const HopperArrays& arrays = is_wide ? wide : narrow;
        auto data = [&](int i) { return static_cast<char*>(run.buffers[buffers[i]]) + bytes[i]; };
        operands = {tensor_map(arrays.a, split ? parts + beside.a : data(0)),
                    tensor_map(arrays.b, split ? parts + beside.b : data(1)), is_wide ? 256 : 128};
      }
      if (split) {
        launch_contract_split(call, run.description<SplitView>(at.parts),
                              is_hopper(kernel) ? &operands : nullptr, shape, choice->plain(),
                              processors, run.stream);
      } else if (is_hopper(kernel)) {
        launch_contract_hopper(call, operands, shape, processors, run.stream);
      } else if (on_tensor_cores(kernel)) {
        auto of_factor = shape.factor == Factor::tf32 ? launch_contract_tf32 : launch_contract_half;
        of_factor(call, shape, run.stream);
      } else {
        launch_contract(call, shape, kernel, run.stream);
      }
    };
    add([=](const Run& run) {
      auto aligned = [&](int buffer) {  // a leaf may begin anywhere
        return reinterpret_cast<uintptr_t>(run.buffers[buffer]) % 16 == 0;
      };
      const bool any = split || !on_units || (aligned(buffers[0]) && aligned(buffers[1]));
      const ContractKernel chosen = choice->kernel(
          any, run.stream, [&](ContractKernel kernel) { launch_product(run, kernel, bare); });
      Kernel* kernel = generated ? generated->kernel() : nullptr;
      const bool apart = within && (kernel || is_hopper(chosen));  // Hopper's interprets nothing
      launch_product(run, chosen, apart ? bare : whole);
      if (!apart) return;
      const auto* program = run.description<ProgramView>(epilogue);
      if (!kernel) return launch_map(program, registers, tiles, run.stream);
      launch_compiled(kernel, "epilogue", static_cast<unsigned>(tiles), generated_threads,
                      run.stream, program);
    });
    if (group.has_epilogue && !within) add_program(group);
  }

  const Plan& plan_;
  const int device_;
  const Properties& properties_;
  const int64_t processors_;
  std::shared_ptr<PreparedPlan> prepared_;
};

}  // namespace

std::shared_ptr<PreparedPlan> prepare_plan(const Plan& plan, int device,
                                           const Properties& properties) {
  return Preparation(plan, device, properties).run();
}

}  // namespace mt::cuda
