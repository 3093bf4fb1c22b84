// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/prepare.h"

#include <algorithm>

#include "backends/cuda/call.h"
#include "backends/cuda/contract/run_contract.h"
#include "backends/cuda/generate/generate.h"
#include "backends/cuda/generate/generated.h"
#include "base/error.h"
#include "base/rounding.h"
#include "ops/order.h"
#include "tensor/first_byte.h"

namespace mt::cuda {
namespace {

// Rows' registers may take so much; with less, fewer rows are under way at once.
constexpr int64_t most_row_scratch = 64 << 20;
constexpr int64_t warps_per_processor = 32;
// Those of generated kernels need no scratch, but read their rows several times: as many are under
// way as the first-level cache has room for, and enough for memory not to wait for them.
constexpr int64_t least_generated_warps = 16, most_generated_warps = 64;
constexpr int64_t first_level_bytes = 128 << 10;
constexpr size_t most_kept_bytes = 48 << 10;  // of shared memory, without asking for it

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
      std::visit([&](const auto& work) { add_work(work); }, group.work);
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
          memory.buffer, first_byte(memory));
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

  // The kernel of its own that a program will have, of a text that is made where it is wanted;
  // nullptr if none.
  template <class MakeText>
  const Generated* request(const FusedProgram& group, MakeText&& make_text) {
    if (!generates()) return nullptr;
    return &request_kernel(device_, make_text(group.program, group.segments[0]));
  }

  void add_work(const FusedProgram& group) {
    if (group.program.registers > most_registers) {
      fail(Code::unsupported, "a group of %d values at once is too large for a GPU",
           group.program.registers);
    }
    int64_t tiles = 0, at = describe(group.program, group.segments, &tiles);
    const Segment& segment = group.segments[0];
    if (group.segments.size() > 1 || segment.columns == 1) {
      return add([elements = PreparedElements(group, device_, "map", at, tiles)](const Run& run) {
        elements.launch(run);
      });
    }
    if (!group.totals.empty()) return add_totals(group, at);
    if (segment.rows == 0) return add([](const Run&) {});
    int64_t bytes = row_bytes(group), slots = row_slots(segment.rows, bytes);
    need_scratch(slots * bytes);
    int64_t read = 1;  // of a row
    for (const Memory& memory : segment.memory) {
      read += segment.columns * static_cast<int64_t>(size_of(memory.dtype));
    }
    int64_t together =
        std::clamp(first_level_bytes / read, least_generated_warps, most_generated_warps);
    int64_t warps = std::min(segment.rows, processors_ * together);
    int64_t blocks = divide_up(warps * 32, generated_threads);
    add([=, kernels = VectorKernels(group, device_, generate_rows)](const Run& run) {
      const auto* program = run.description<ProgramView>(at);
      if (Kernel* kernel = kernels.way(run).kernel()) {
        return launch_compiled(kernel, "row", static_cast<unsigned>(blocks), generated_threads, 0,
                               run.stream, program);
      }
      launch_row(program, reinterpret_cast<uint64_t*>(run.scratch), slots, run.stream);
    });
  }

  // Of the registers of a warp that interprets rows; and how many of them, for so many rows.
  static int64_t row_bytes(const FusedProgram& group) {
    return std::max(group.program.registers, 1) * row_stride(group.segments[0].columns) * 8;
  }
  int64_t row_slots(int64_t rows, int64_t bytes) const {
    int64_t slots = std::min(rows, processors_ * warps_per_processor);
    return std::clamp<int64_t>(most_row_scratch / bytes, 4, round_up(slots, 4)) / 4 * 4;
  }

  // Rows that make totals, panel by panel; the program lies at `at`.
  void add_totals(const FusedProgram& group, int64_t at) {
    const Segment& segment = group.segments[0];
    ReductionShape shape{};
    shape.outer = 1;
    shape.reduced = segment.rows;
    shape.inner = segment.columns;
    shape.panel = column_panel(segment.columns);
    shape.panels = std::max<int64_t>(1, divide_up(segment.rows, shape.panel));
    const int64_t count = shape.panels * shape.inner;  // of partial results, for each total
    const int64_t partials = round_up(static_cast<int64_t>(group.totals.size()) * count * 8, 256);
    int64_t bytes = row_bytes(group), slots = row_slots(shape.panels, bytes);
    need_scratch(partials + slots * bytes);
    show_panels(at, shape, 0);

    const int values = row_values(group.program);
    const auto shared_bytes = static_cast<size_t>(values * shape.panel * 8);
    const Generated* generated =
        shared_bytes <= most_kept_bytes ? request(group, generate_totals) : nullptr;
    const int64_t columns = std::max<int64_t>(shape.inner, 1);
    const int64_t threads = std::min<int64_t>(round_up(columns, 32), most_total_threads);
    const int64_t across = values > 0 ? 1 : divide_up(columns, threads);
    add([=, totals = &group.totals](const Run& run) {
      const auto* program = run.description<ProgramView>(at);
      if (Kernel* kernel = generated ? generated->kernel() : nullptr) {
        launch_compiled(kernel, "totals", static_cast<unsigned>(shape.panels * across),
                        static_cast<unsigned>(threads), shared_bytes, run.stream, program);
      } else {
        launch_row(program, reinterpret_cast<uint64_t*>(run.scratch + partials), slots, run.stream);
      }
      if (shape.results() == 0) return;
      auto* next = reinterpret_cast<uint64_t*>(run.scratch);
      for (const Total& total : *totals) {
        ReductionShape own = shape;
        own.reduction = total.reduction;
        own.type = total.type;
        launch_combine(own, next, run.buffers[total.output.buffer], total.output.dtype, run.stream);
        next += count;
      }
    });
  }

  void add_work(const ReduceGroup& group) {
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
    need_scratch(shape.results() * shape.panels * 8);
    show_panels(at, shape, 0);
    if (shape.results() == 0) return add([](const Run&) {});
    const Generated* generated =
        request(group, [&](const Program& program, const Segment& segment) {
          return generate_reduction(program, segment, shape.in_lanes);
        });
    auto blocks = static_cast<unsigned>(divide_up(shape.tasks(), generated_threads));
    int registers = group.program.registers;
    int out = group.output.buffer;
    Dtype dtype = group.output.dtype;
    add([=](const Run& run) {
      const auto* program = run.description<ProgramView>(at);
      if (Kernel* kernel = generated ? generated->kernel() : nullptr) {
        launch_compiled(kernel, "reduce", blocks, generated_threads, 0, run.stream, program);
      } else {
        launch_panels(program, registers, shape, run.stream);
      }
      launch_combine(shape, reinterpret_cast<uint64_t*>(run.scratch), run.buffers[out], dtype,
                     run.stream);
    });
  }

  // Tells the program at that place where its panels' results lie.
  void show_panels(int64_t program, const ReductionShape& shape, int64_t scratch_byte) {
    PanelsView panels{shape.outer, shape.reduced, shape.inner, shape.panel, shape.panels, nullptr};
    int64_t at = block().add(panels);
    block().show_scratch(at + offsetof(PanelsView, partials), scratch_byte);
    block().show_block(program + offsetof(ProgramView, panels), at);
  }

  // Where the contraction's descriptions lie, without or with what follows.
  PreparedContraction::Described describe_contraction(const ContractGroup& group,
                                                      const PreparedContraction& made,
                                                      bool finishes) {
    const ContractionView view = contraction_view(group.contraction, made.shape);
    const Operand &a = group.a, &b = group.b;
    auto show = [&](int64_t at) {
      block().show_buffer(at + offsetof(ContractionView, out), group.output.buffer, 0);
      block().show_scratch(at + offsetof(ContractionView, slabs), 0);
      if (finishes) block().show_block(at + offsetof(ContractionView, epilogue), made.epilogue);
      if (!made.split) return;
      block().show_scratch(at + offsetof(ContractionView, refused),
                           made.slabs + made.beside.refused);
    };
    PreparedContraction::Described at{block().add(view), -1};
    show(at.call);
    block().show_buffer(at.call + offsetof(ContractionView, a), a.buffer, first_byte(a));
    block().show_buffer(at.call + offsetof(ContractionView, b), b.buffer, first_byte(b));
    if (!made.split) return at;
    static_assert(offsetof(SplitView, product) == 0);
    at.parts = block().add(split_view(view, made.shape));
    show(at.parts);
    block().show_scratch(at.parts + offsetof(ContractionView, a), made.slabs + made.beside.a);
    block().show_scratch(at.parts + offsetof(ContractionView, b), made.slabs + made.beside.b);
    block().show_scratch(at.parts + offsetof(SplitView, seen), made.slabs + made.beside.seen);
    return at;
  }

  // The kernels that finish Hopper's tiles as they come.
  void request_finishing(const FusedProgram& epilogue, PreparedContraction* made) {
    const ContractionShape& shape = made->shape;
    const bool countable = shape.batch * shape.m * shape.n <= INT32_MAX;
    if (!generates() || !made->follows || made->split || shape.panels > 1 || !countable) return;
    const Program& program = epilogue.program;
    const Segment& segment = epilogue.segments[0];
    for (bool wide : {false, true}) {
      auto kernel = wide ? ContractKernel::hopper_128x256 : ContractKernel::hopper_128x128;
      if (!made->choice.may_be(kernel)) continue;
      const bool tf32 = shape.factor == Factor::tf32;  // which lies along k in any case
      HopperTileText tile{shape.factor, shape.a_along_k || tf32, shape.b_along_k || tf32,
                          wide ? 256 : 128};
      made->finishing[wide] = &request_kernel(
          device_, generate_within(program, segment, one_by_one(program, segment), tile));
    }
  }

  void add_work(const ContractGroup& group) {
    const Contraction& c = group.contraction;
    const ContractionShape shape = contraction_shape(c);
    auto made = std::make_shared<PreparedContraction>(
        PreparedContraction{shape, ContractChoice(group, shape, device_, properties_)});
    made->processors = processors_;
    made->out = group.output.buffer;
    const Operand* operands[] = {&group.a, &group.b};
    for (int i = 0; i < 2; ++i) {
      made->buffers[i] = operands[i]->buffer;
      made->bytes[i] = first_byte(*operands[i]);
    }
    made->split = is_split(c, shape);
    if (shape.panels > 1) {
      made->slabs =
          shape.batch * shape.panels * shape.m * shape.n * static_cast<int64_t>(size_of(shape.sum));
      made->slabs = round_up(made->slabs, 256);
    }
    if (made->split) made->beside = split_scratch(shape);
    const bool blas = made->choice.may_be(ContractKernel::cublaslt);
    const bool hopper = made->choice.knows_hopper();
    if (hopper && !made->split && shape.factor == Factor::tf32 && made->choice.may_be_hopper()) {
      made->turned = turned_scratch(c, shape);
    }
    need_scratch(made->slabs + made->beside.end + made->turned.end + (blas ? blas_workspace : 0));

    // What follows element by element, if it is small enough, has a kernel of its own as soon as
    // that is compiled, and is interpreted within the contraction until then; on Hopper the other
    // way round.
    const FusedProgram* epilogue = group.epilogue ? &*group.epilogue : nullptr;
    const bool within = made->follows = epilogue && epilogue->segments[0].columns == 1 &&
                                        epilogue->program.registers <= epilogue_registers;
    if (within) {
      int64_t tiles = 0;
      made->epilogue = describe(epilogue->program, epilogue->segments, &tiles);
      made->rest = PreparedElements(*epilogue, device_, "epilogue", made->epilogue, tiles);
    }
    if (hopper) {
      auto arrays = [&](int columns) {
        return made->split ? hopper_split_arrays(
                                 shape, split_view(contraction_view(c, shape), shape), columns)
                           : hopper_arrays(c, columns);
      };
      made->narrow = arrays(128);
      made->wide = arrays(256);
      if (epilogue) request_finishing(*epilogue, made.get());
    }
    made->whole = describe_contraction(group, *made, within);
    const bool divides = within && (generates() || hopper || blas || made->choice.is_open());
    made->bare = divides ? describe_contraction(group, *made, false) : made->whole;
    add([made](const Run& run) { made->run(run); });
    if (epilogue && !within) add_work(*epilogue);
  }

  void add_work(const CallGroup& group) {
    prepared_->groups.push_back(prepare_call(group, properties_, &block(), &prepared_->scratch));
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
