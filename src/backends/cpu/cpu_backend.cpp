// SPDX-License-Identifier: Apache-2.0
// Runs plans on the CPU, group by group.
#include "backends/cpu/cpu_backend.h"

#include <algorithm>
#include <cstring>

#include "backends/cpu/call.h"
#include "backends/cpu/contract/contract.h"
#include "backends/cpu/parallel.h"
#include "backends/cpu/program.h"
#include "backends/cpu/reduce.h"

namespace mt::cpu {
namespace {

bool finishes_tiles(const Group& group) {
  return group.has_epilogue && group.segments[0].columns <= 1;
}

// An element-wise epilogue runs on each tile of the result while it is in cache.
struct TileEpilogue {
  const ResolvedProgram& resolved;
  const Segment& segment;
  void* const* buffers;
  const Immediates* immediates;
  int64_t m, n;

  static void run(void* context, const Tile& tile) {
    auto& self = *static_cast<TileEpilogue*>(context);
    alignas(64) char registers[stack_registers];
    int64_t most = self.resolved.tile_elements(stack_registers, 1024);
    ProgramRun program(self.resolved, self.segment, self.buffers, self.immediates, registers, most);
    auto span = [&](int64_t first, int64_t count) {
      for (int64_t done = 0; done < count; done += most) {
        program.run(first + done, std::min(most, count - done));
      }
    };
    int64_t first_row = tile.batch * self.m;
    int64_t width = tile.column_end - tile.column_begin;
    if (width == self.n) {
      span((first_row + tile.row_begin) * self.n, (tile.row_end - tile.row_begin) * self.n);
      return;
    }
    for (int64_t row = tile.row_begin; row < tile.row_end; ++row) {
      span((first_row + row) * self.n + tile.column_begin, width);
    }
  }
};

int64_t extent_of(const std::vector<ContractionDim>& dims) {
  int64_t extent = 1;
  for (const ContractionDim& dim : dims) extent *= dim.size;
  return extent;
}

char* element(void* const* buffers, const Operand& operand) {
  return static_cast<char*>(buffers[operand.buffer]) +
         operand.layout.offset * static_cast<int64_t>(size_of(operand.dtype));
}

void run_contraction(const Group& group, void* const* buffers, const Immediates* immediates,
                     char* scratch) {
  const void* a = element(buffers, group.inputs[0]);
  const void* b = element(buffers, group.inputs[1]);
  void* out = buffers[group.output.buffer];
  if (!finishes_tiles(group)) {
    contract(group.contraction, a, b, out, scratch);
    if (group.has_epilogue) {
      run_program(group.program, group.segments, buffers, immediates, scratch);
    }
    return;
  }
  ResolvedProgram resolved(group.program);
  TileEpilogue context{resolved,
                       group.segments[0],
                       buffers,
                       immediates,
                       extent_of(group.contraction.m),
                       extent_of(group.contraction.n)};
  Epilogue epilogue{TileEpilogue::run, &context};
  contract(group.contraction, a, b, out, scratch, &epilogue);
}

void run_call(const Group& group, void* const* buffers, const Immediates* immediates) {
  NaiveCall call{*group.op, group.attributes, immediates[group.immediate], {}, {}};
  for (const Operand& input : group.inputs) {
    call.inputs.push_back({buffers[input.buffer], input.dtype, input.layout});
  }
  call.output = {buffers[group.output.buffer], group.output.dtype, group.output.layout};
  CallKernel kernel = find_call_kernel(*group.op);
  kernel ? kernel(call) : naive_value(call);
}

class CpuBackend final : public Backend {
 public:
  uint64_t configuration() const override { return static_cast<uint64_t>(thread_count()); }

  int64_t scratch_bytes(const Plan& plan) override {
    int64_t most = 0;
    for (const Group& group : plan.groups) {
      int64_t bytes = 0;
      switch (group.kind) {
        case GroupKind::contract:
          bytes = static_cast<int64_t>(contract_scratch(group.contraction));
          if (group.has_epilogue) {
            bytes = std::max(bytes, program_scratch(group.program, group.segments));
          }
          break;
        case GroupKind::reduce: bytes = reduce_scratch(group); break;
        case GroupKind::call: break;
        default: bytes = program_scratch(group.program, group.segments);
      }
      most = std::max(most, bytes);
    }
    return most;
  }

  void run(const Plan& plan, void* const* buffers, const Immediates* immediates,
           void* scratch) override {
    char* memory = static_cast<char*>(scratch);
    for (const Group& group : plan.groups) {
      switch (group.kind) {
        case GroupKind::contract: run_contraction(group, buffers, immediates, memory); break;
        case GroupKind::reduce: run_reduce(group, buffers, immediates, memory); break;
        case GroupKind::call: run_call(group, buffers, immediates); break;
        default: run_program(group.program, group.segments, buffers, immediates, memory);
      }
    }
  }

  void copy_from_host(void* target, const void* source, size_t bytes) override {
    std::memcpy(target, source, bytes);
  }
  void copy_to_host(void* target, const void* source, size_t bytes) override {
    std::memcpy(target, source, bytes);
  }
};

}  // namespace

Backend& backend() {
  static CpuBackend backend;
  return backend;
}

}  // namespace mt::cpu
