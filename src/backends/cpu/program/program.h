// SPDX-License-Identifier: Apache-2.0
// Runs a fused program over tiles: a few registers of one tile each, which stay in the first or
// second cache, and one kernel call for each instruction and tile.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "backends/cpu/elementwise/kernels.h"
#include "backends/cpu/program/narrow.h"
#include "backends/cpu/program/pieces.h"
#include "backends/cpu/program/runs.h"
#include "backends/cpu/strided/panel.h"
#include "plan/plan.h"

namespace mt::cpu {

// Bytes on the stack for the registers of element-wise programs.
constexpr int64_t stack_registers = 64 << 10;
// Most operands that are prefetched.
constexpr size_t most_ahead = 8;
// Longest row, in elements, of which some registers still fit in a second-level cache of 1 or 2 MB.
constexpr int64_t longest_row = 131072;

// An operand of a step: where it lies, and how far apart its rows are.
struct Source {
  int16_t place = no_place;
  bool repeated = false;  // one number for each row
  int64_t pitch = 0;      // bytes between rows; in a transposed tile, between columns, per row
  bool pieced = false;    // the pitch is from piece to piece of a row (pieces.h)
  int64_t panel = 0;      // bytes from one panel of a row (ops/order.h) to the next
};

// How a step goes through a tile.
enum class Traversal : uint8_t {
  row_values,  // one number for each row
  flat,        // all elements, as if they were one row
  rows,        // row by row
  pieces,      // piece by piece of a row
  few,         // row by row, reading next to nothing of each
  total,       // row by row, each added to the same result
  columns,     // column by column of a transposed tile (narrow.h)
  panels,      // panel by panel of each row, whose results are then combined
};

inline bool is_operator(const Instruction& i) {
  return i.code == Opcode::elementwise || i.code == Opcode::select;
}

// Whether its result may be computed in a register and then copied to memory past the caches.
inline bool may_stream(const Instruction& i) {
  return is_operator(i) || i.code == Opcode::cast || i.code == Opcode::store;
}

// The place it writes.
inline int16_t written_by(const Instruction& i) {
  return i.code == Opcode::store ? static_cast<int16_t>(~i.index) : i.out;
}

// An instruction ready to run, or several joined: a kernel, what it reads and where it writes.
struct Step {
  const Instruction* instruction = nullptr;
  Operator operate = nullptr;
  Kernel convert = nullptr;  // also loads and stores
  RowExpansion expand = nullptr;
  RandomSource draw = nullptr;
  Traversal traversal = Traversal::flat;
  bool compact = false;     // whether its values are compact, as in memory (compact.h)
  bool is_pair = false;     // whether it does the previous instruction as well
  bool is_slow = false;     // whether it computes long enough to prefetch memory meanwhile
  bool whole_rows = false;  // whether it cannot run on part of a row
  int16_t fetched = -1;     // memory whose next tile it prefetches while it computes
  int64_t further = 0;      // or how many bytes ahead of its reads it prefetches
  Source in[4];
  int16_t out = no_place;
  Operator operate_all = nullptr;  // instead of `operate`: takes more operands and prefetches them
  std::vector<Source> all;         // its operands (elementwise/moments.h, normalize.h)

  // Whether its run time grows with the number of elements, not only of rows.
  bool is_long() const { return traversal != Traversal::row_values && traversal != Traversal::few; }
  bool in_pieces() const {
    return std::any_of(in, in + 4, [](const Source& source) { return source.pieced; });
  }
  bool reads(int16_t place) const {
    auto is_it = [&](const Source& source) { return source.place == place; };
    return std::any_of(in, in + 4, is_it) || std::any_of(all.begin(), all.end(), is_it);
  }
};

// The bytes of a register's element.
inline int64_t element_bytes(const Program& program) { return program.wide ? 8 : 4; }

// How a program goes through its elements; each way is divided among workers by its own function.
enum class Walk : uint8_t {
  elements,  // one after another, whatever their rows
  panels,    // panel by panel, one memory transposed (strided/panel.h)
  rows,      // of several columns, in tiles of whole rows
  totals,    // rows, accumulating their column totals (totals.h)
};

// What an instruction that reduces becomes: a step that reduces rows, or the last step, which runs
// separately, over one long row or down columns.
enum class Reduced : uint8_t { rows, long_row, columns };

// A program ready to run: kernels looked up, tile and grain chosen. Shared by all workers and kept
// with the plan.
struct PreparedProgram {
  const Program* program = nullptr;
  std::vector<Step> steps;
  Walk walk = Walk::elements;
  Reduced reduced = Reduced::rows;
  // Replaces the plan's segment: an element-wise one in rows or in another order.
  std::optional<Segment> instead;
  PanelOrder panels;          // if it goes by panels
  std::vector<Total> totals;  // if it accumulates any

  // Offsets in scratch: of each register, of one for conversions, and of one for each of
  // `streamed`. Then entries for the totals, which lie elsewhere.
  std::vector<int64_t> slots;
  std::vector<bool> filled;   // whether a register of one number has it repeated over a tile
  std::vector<bool> compact;  // whether the number of an instruction is, as in memory (compact.h)
  int64_t scratch_bytes = 0;  // for one worker

  // Rows of few columns are transposed in the registers (narrow.h).
  std::shared_ptr<const Program> turned;  // the program that then runs
  std::vector<NarrowOperand> narrow;      // of each memory
  bool pools = false;   // it only finds the largest element of each two-by-two window
  bool slides = false;  // it only reduces windows that move by one element, in place
  // Rows with operands that are evenly spaced only over a piece of them, or over some (pieces.h).
  std::vector<PiecedOperand> pieced;  // of each memory, if any is read so
  int64_t pieces = 1;                 // of a row
  std::vector<Runs> runs;  // of each memory, if rows are only reduced and some of them lie in runs

  // Elements of a part of a row, if steps from `first_in_parts` on run part by part (parts.h); and
  // the registers that earlier steps fill for the whole row.
  struct Carried {
    int16_t place;
    int64_t element;  // bytes
  };
  int64_t part = 0;
  size_t first_in_parts = 0;
  std::vector<Carried> carried;

  std::vector<int16_t> streamed;  // memory that is written past the caches
  std::vector<int16_t> ahead;     // memory that is prefetched ahead of its tile, between steps
  bool far_ahead = false;         // whether it goes to the second-level cache
  int64_t long_steps = 0;         // steps over all elements, which share the prefetching

  int threads = 1;                 // most workers, as many as scratch has room for
  int64_t tile_rows = 1;           // most rows of a tile
  int64_t tiles = 0;               // of all segments, if it goes by elements
  bool at_once = false;            // and a worker's tiles all run as one
  std::vector<bool> same_numbers;  // of each segment: as in the previous one
  int64_t grain = 1;               // rows, else tiles, below which one worker does everything

  // Whether it goes by rows, with its registers in scratch; else they lie on the stack.
  bool by_rows() const { return walk == Walk::rows || walk == Walk::totals; }
  bool is_turned() const { return turned != nullptr; }
  // Whether that place is memory that is written past the caches.
  bool is_streamed(int16_t place) const {
    const auto memory = static_cast<int16_t>(~place);
    return place < 0 && std::find(streamed.begin(), streamed.end(), memory) != streamed.end();
  }
  // The segment it runs over, if there is only one.
  const Segment& segment_of(const FusedProgram& fused) const {
    return instead ? *instead : fused.segments[0];
  }
};

// `in_tiles`: it runs, perhaps row by row, over tiles that the caller chooses, of a result whose
// rows have `row_elements` elements. `buffers` tell which results take over an operand's memory.
PreparedProgram prepare_program(const FusedProgram& fused, const std::vector<Buffer>& buffers,
                                bool in_tiles, int64_t row_elements = 0);
// Prepares a program for tiles of `tile_rows` rows whose registers lie in scratch.
PreparedProgram prepare_tiles(const Program& program, const Segment& segment, int64_t tile_rows,
                              Reduced reduced);

// One worker's run over one segment.
class ProgramRun {
 public:
  // `registers` has room for scratch_bytes. At most `tile_rows` rows will be run at once.
  ProgramRun(const PreparedProgram& prepared, const Segment& segment, void* const* buffers,
             const Immediates* immediates, char* registers, int64_t tile_rows)
      : ProgramRun(prepared, segment, buffers, immediates, registers, tile_rows, 0,
                   segment.columns) {}
  // A run over `columns` of an element-wise segment's columns, row by row unless these are all.
  ProgramRun(const PreparedProgram& prepared, const Segment& segment, void* const* buffers,
             const Immediates* immediates, char* registers, int64_t tile_rows, int64_t column_begin,
             int64_t columns);
  ~ProgramRun() {
    if (!prepared_.streamed.empty()) finish_streaming();
  }
  ProgramRun(const ProgramRun&) = delete;
  // Continues with another segment; refills the registers of numbers unless they are the same.
  void go_on(const Segment& segment, bool same_numbers, int64_t tile_rows) {
    segment_ = &segment;
    place_memory();
    if (!same_numbers) fill_numbers(tile_rows);
  }
  // Reads elements [first, first + count) of operand panels.memory; the next runs stay within them.
  void read_block(void* block, int64_t first, int64_t count);
  // Computes rows [first, first + rows) and meanwhile prefetches memory for the next `ahead` rows.
  void run(int64_t first, int64_t rows, int64_t ahead = 0) {
    run(first, rows, first + rows, ahead);
  }
  // The same, where the next rows begin at `next`.
  void run(int64_t first, int64_t rows, int64_t next, int64_t ahead);
  // Reads `rows` rows of `columns` elements of operand panels.memory, from element `first` on; the
  // next runs stay within them.
  void read_panel(void* panel, int64_t first, int64_t rows, int64_t columns);
  // Sets where the next runs accumulate a total.
  void set_total(size_t index, char* at) {
    places_[registers_ - static_cast<int>(prepared_.totals.size() - index)] = {at, 0};
  }
  // Sets where a memory's rows from `first` on lie, if not in their place.
  void move_memory(int index, const void* at, int64_t first) {
    Place& place = places_[registers_ + index];
    place.base = static_cast<char*>(const_cast<void*>(at)) - first * place.step;
  }
  // Where a value lies for the tile that begins at row `first`.
  char* address(int16_t place, int64_t first) const {
    const Place& at = place >= 0 ? places_[place] : places_[registers_ + ~place];
    return at.base + first * at.step;
  }

 private:
  struct Place {
    char* base;
    int64_t step;  // bytes from one row to the next; 0 for registers
  };
  // A group has at most 64 items, each with at most three loads, a store and a few registers.
  static constexpr int most_places = 768;

  void execute(const Step& step, int64_t first, int64_t rows);
  void operate_all(const Step& step, int64_t first, int64_t rows);
  void pool(int64_t first, int64_t rows);
  void slide(int64_t first, int64_t rows);
  void place_memory();
  void fill_numbers(int64_t tile_rows);
  void fill(const Instruction& instruction, int64_t tile_rows);
  void load(const Step& step, char* out, int64_t first, int64_t count);
  void load_padded(char* out, const char* base, const Memory& memory, int64_t first,
                   int64_t count) const;
  // turned_tiles.cpp: read elements [first, first + count) of an operand or generate their
  // positions, write a tile of a result.
  void gather_turned(char* out, const char* base, int16_t index, int64_t first, int64_t count);
  void count_turned(char* out, const Instruction& iota, int64_t first, int64_t count);
  void store_turned(const Step& step, int64_t first, int64_t rows);
  // Bytes from the beginning of a memory's row to the first column of this run.
  int64_t column_bytes(const Memory& memory) const;
  // Where the first element of a memory lies.
  const char* first_element(int16_t index) const;
  // Locates the operands read piece by piece, for the tile that begins at row `first`.
  void find_pieces(int64_t first);
  // Moves on to the next part of the row; false after the last, with the initial state restored.
  bool next_part(int64_t row);

  const PreparedProgram& prepared_;
  const Segment* segment_;
  void* const* const buffers_;
  const Immediates* immediates_;
  int64_t column_begin_, columns_;
  int registers_;
  const char* panel_ = nullptr;
  int64_t panel_first_ = 0;
  Place places_[most_places];
};

// Runs a whole element-wise or row group in parallel. `scratch` holds scratch_bytes for each
// worker, then what its totals need.
void run_program(const PreparedProgram& prepared, const FusedProgram& fused, void* const* buffers,
                 const Immediates* immediates, char* scratch);

}  // namespace mt::cpu
