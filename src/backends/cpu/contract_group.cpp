// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/contract_group.h"

#include <algorithm>

#include "backends/cpu/parallel/parallel.h"
#include "tensor/first_byte.h"

namespace mt::cpu {
namespace {

bool finishes_tiles(const ContractGroup& group) {
  return group.epilogue && group.epilogue->segments[0].columns <= 1;
}

// The epilogue's memory for the product, if only this reads it, and element by element; else -1.
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

// Whether b is a weight that only this group reads before its update.
bool replaces_b(const Plan& plan, const ContractGroup& group) {
  const Buffer& b = plan.buffers[group.b.buffer];
  if (!b.replaced || b.within >= 0) return false;
  std::vector<int> read;
  for (const Group& each : plan.groups) buffers_read(each, &read);
  return std::count(read.begin(), read.end(), group.b.buffer) == 2;
}

// An element-wise epilogue runs on each tile of the result while it is in cache; row by row where
// some operand is the same for all rows.
struct TileEpilogue {
  const PreparedProgram& prepared;
  const Segment& segment;
  void* const* buffers;
  const Immediates* immediates;
  int64_t m, n;
  int passing;  // as in PreparedContractGroup
  const TurnedEpilogue* turned;

  static void run_turned(void* context, const Tile& tile, void* values) {
    auto& self = *static_cast<TileEpilogue*>(context);
    alignas(64) char registers[stack_registers];
    const PreparedProgram& program = self.turned->program;
    const int64_t first = tile.column_begin, end = tile.column_end;
    const int64_t most = std::min(program.tile_rows, end - first);
    ProgramRun run(program, *program.instead, self.buffers, self.immediates, registers, most);
    run.move_memory(self.turned->product, values, first);
    run.move_memory(self.turned->result, values, first);
    for (int64_t at = first; at < end; at += most) run.run(at, std::min(most, end - at));
  }

  static void run(void* context, const Tile& tile) {
    auto& self = *static_cast<TileEpilogue*>(context);
    alignas(64) char registers[stack_registers];
    const int64_t width = tile.column_end - tile.column_begin;
    if (self.prepared.by_rows()) {
      int64_t at = tile.batch * self.m + tile.row_begin;
      const int64_t end = (tile.batch + tile.entries - 1) * self.m + tile.row_end;
      const int64_t most = width == self.n ? std::min(end - at, self.prepared.tile_rows) : 1;
      ProgramRun program(self.prepared, self.segment, self.buffers, self.immediates, registers,
                         most, tile.column_begin, width);
      if (tile.passing) program.move_memory(self.passing, tile.passing, at);
      for (; at < end; at += most) program.run(at, std::min(most, end - at));
      return;
    }
    const int64_t rows = (tile.entries - 1) * self.m + tile.row_end - tile.row_begin;
    int64_t longest = width == self.n ? rows * width : width;
    int64_t most = std::min(longest, self.prepared.tile_rows);
    ProgramRun program(self.prepared, self.segment, self.buffers, self.immediates, registers, most);
    if (tile.passing) {
      program.move_memory(self.passing, tile.passing,
                          (tile.batch * self.m + tile.row_begin) * self.n);
    }
    // Parts of rows are too short for the hardware to prefetch the next row's, so this does.
    auto span = [&](int64_t first, int64_t count, bool more_rows) {
      for (int64_t done = 0; done < count; done += most) {
        const int64_t piece = std::min(most, count - done), at = first + done;
        program.run(at, piece, at + self.n, more_rows ? piece : 0);
      }
    };
    int64_t first_row = tile.batch * self.m;
    if (width == self.n) {
      span((first_row + tile.row_begin) * self.n, rows * self.n, false);
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

// Callbacks of an EntrySource, which generate padded entries of b when they are read.
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
  static void make_all(const void* context) {
    auto& self = *static_cast<const PaddedEntries*>(context);
    pad_all(self.plan, self.padding, self.buffers, self.immediates);
  }
  double fill() const {
    const CallGroup& pad = padding_call(plan, padding);
    return __builtin_bit_cast(double, immediates[pad.immediate].value[0]);
  }
};

}  // namespace

PreparedContractGroup prepare_contract_group(const Plan& plan, const ContractGroup& group,
                                             int index) {
  PreparedContractGroup ready;
  const Padding padding = find_padding(plan, index);
  const bool pads = padding.group >= 0 && !padding.read_around;
  EntryParts parts;
  if (pads) parts = parts_of_entry(plan, padding);
  if (padding.group >= 0) ready.padding = std::make_unique<const Padding>(padding);
  ready.passing = memory_that_passes(group);
  ready.contraction = std::make_unique<PreparedContraction>(
      of_entries(group.contraction, padding), thread_count(),
      Surroundings{pads ? &parts : nullptr, ready.passing >= 0, replaces_b(plan, group)});
  ready.in_tiles = finishes_tiles(group);
  if (group.epilogue) {
    ready.epilogue = prepare_program(*group.epilogue, plan.buffers, ready.in_tiles,
                                     size_of_group(group.contraction.n));
  }
  const TurnedTiles tiles = ready.contraction->turned_tiles();
  if (tiles.kind != TurnedTiles::none && ready.in_tiles) {
    if (auto turned = turned_epilogue(group, tiles)) {
      ready.turned = std::make_unique<const TurnedEpilogue>(std::move(*turned));
    }
  }
  return ready;
}

namespace {

void multiply(const Plan& plan, const ContractGroup& group, const PreparedContractGroup& prepared,
              void* const* buffers, const Immediates* immediates, char* scratch,
              const Epilogue* epilogue) {
  const void* a = element(buffers, group.a);
  const void* b = element(buffers, group.b);
  void* out = buffers[group.output.buffer];
  if (!prepared.padding) {
    prepared.contraction->run(a, b, out, scratch, epilogue);
    return;
  }
  const Padding& padding = *prepared.padding;
  const PaddedEntries entries{plan, padding, buffers, immediates};
  EntrySource source{PaddedEntries::make, PaddedEntries::find, PaddedEntries::make_terms, &entries,
                     bool{padding.lines}};
  source.fill = entries.fill();
  PaddedImages images;
  if (padding.read_around) {
    images = padded_images(plan, padding, buffers);
    source.images = &images;
    source.make_all = PaddedEntries::make_all;
  }
  prepared.contraction->run(a, b, out, scratch, epilogue, &source);
}

}  // namespace

void run_contract_group(const Plan& plan, const ContractGroup& group,
                        const PreparedContractGroup& prepared, void* const* buffers,
                        const Immediates* immediates, char* scratch) {
  if (!prepared.in_tiles) {
    multiply(plan, group, prepared, buffers, immediates, scratch, nullptr);
    if (group.epilogue) {
      run_program(prepared.epilogue, *group.epilogue, buffers, immediates, scratch);
    }
    return;
  }
  const PreparedProgram& program = prepared.epilogue;
  TileEpilogue context{program,
                       program.segment_of(*group.epilogue),
                       buffers,
                       immediates,
                       size_of_group(group.contraction.m),
                       size_of_group(group.contraction.n),
                       prepared.passing,
                       prepared.turned.get()};
  Epilogue epilogue{TileEpilogue::run, &context};
  if (prepared.turned) epilogue.run_turned = TileEpilogue::run_turned;
  multiply(plan, group, prepared, buffers, immediates, scratch, &epilogue);
}

}  // namespace mt::cpu
