// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/program/make_steps.h"

#include <algorithm>

#include "backends/cpu/program/compact.h"
#include "backends/cpu/program/join_steps.h"
#include "backends/cpu/program/take_over.h"
#include "backends/cpu/program/totals.h"
#include "ops/order.h"

namespace mt::cpu {
namespace {

// Whether the instruction can read in place what a load or an expansion would copy.
bool reads_in_place(const Instruction& i) { return is_operator(i) || i.code == Opcode::total; }

class StepMaker {
 public:
  StepMaker(const Program& program, const Segment& segment, std::vector<int16_t> streamed,
            PreparedProgram* prepared)
      : code_(program.instructions),
        registers_(static_cast<int16_t>(program.registers)),
        once_(static_cast<size_t>(program.once)),
        segment_(segment),
        prepared_(*prepared),
        compact_(program, segment.columns, prepared->reduced, prepared->is_turned()),
        instead_(static_cast<size_t>(program.registers)) {
    prepared_.streamed = std::move(streamed);
    prepared_.filled.assign(static_cast<size_t>(program.registers), false);
    prepared_.compact.assign(once_, false);
  }

  void run(bool whole_rows) {
    for (size_t at = 0; at < once_; ++at) {
      instead_[code_[at].out] = {code_[at].out, true, 0};
      if (!only_operators_read(at)) prepared_.filled[code_[at].out] = true;
      prepared_.compact[at] = compact_.makes(at);
    }
    prepared_.steps.reserve(code_.size() - once_);
    for (size_t at = once_; at < code_.size(); ++at) {
      const Instruction& i = code_[at];
      if (at > once_ && is_gathered_there(at - 1)) continue;  // a store
      if (vanishes(at)) {
        if (i.out != i.in[0]) instead_[i.out] = {i.in[0], false, pitch_of(size_of(i.type))};
        continue;
      }
      Source source = readable_instead(at);
      if (source.place == no_place || source.place == i.out) add(at);
      if (i.out >= 0) instead_[i.out] = source;
    }
    if (whole_rows) join_positions(&prepared_.steps, segment_, turned());
    // A reduction at the end of a flat program is not part of it: run_reduction() runs it.
    join_steps(&prepared_.steps, segment_.columns != 1 && !turned());
    for (Step& step : prepared_.steps) {
      if (step.in_pieces()) go_by_pieces(&step);
      if (step.traversal == Traversal::panels) go_by_panels(&step);
    }
  }

 private:
  bool turned() const { return prepared_.is_turned(); }

  // Whether nothing but operators reads the register that instruction `at` writes.
  bool only_operators_read(size_t at) const {
    return all_read(code_, at, code_[at].out, reads_in_place);
  }

  // Whether a rounding is redundant: a store rounds next anyway, or it is compact in place already.
  bool vanishes(size_t at) const {
    const Instruction& i = code_[at];
    if (i.code != Opcode::round) return false;
    if (i.out != i.in[0] && (i.out < 0 || turned() || compact_.reads(at, 0))) return false;
    if (i.out == i.in[0] && compact_.makes(at)) return true;
    if (at + 1 == code_.size()) return false;
    const Instruction& next = code_[at + 1];
    return next.code == Opcode::store && next.in[0] == i.out && next.dtype == i.dtype &&
           is_last_read(code_, at + 1);
  }

  // Whether the next instruction only stores what a load gathers, so that the load can write there.
  bool is_gathered_there(size_t load) const {
    const Instruction& i = code_[load];
    if (i.code != Opcode::load || i.row || turned() || load + 1 == code_.size()) return false;
    const Instruction& next = code_[load + 1];
    const int16_t place = written_by(next);
    return next.code == Opcode::store && next.in[0] == i.out && next.dtype == i.dtype &&
           is_native(segment_.memory[i.index]) && is_last_read(code_, load + 1) &&
           !prepared_.is_streamed(place);
  }

  // The memory that a load copies, in the order of the tiles.
  Source in_memory(const Instruction& load) const {
    return {static_cast<int16_t>(~load.index), false,
            segment_.columns * static_cast<int64_t>(size_of(load.dtype))};
  }

  // Whether a step that sums rows could load them itself (join_steps.h): in short rows, the
  // remainder takes longer than a separate load of the whole row.
  bool could_be_summed(const Instruction& load) const {
    constexpr int64_t shortest = 256;
    const int64_t columns = segment_.columns;
    return is_half(load.dtype) && !load.row && !turned() &&
           segment_.memory[load.index].contiguous &&
           (columns >= shortest || prepared_.reduced == Reduced::long_row);
  }

  // Whether operators alone read an operand that all columns of a transposed tile share.
  bool loads_row_values(size_t at) const {
    const Instruction& i = code_[at];
    return turned() && i.code == Opcode::load && !i.row && only_operators_read(at) &&
           prepared_.narrow[static_cast<size_t>(i.index)].repeated;
  }

  // What operators can read instead of the copy that a load or an expansion would make.
  Source readable_instead(size_t at) const {
    const Instruction& i = code_[at];
    if (i.code == Opcode::cast && compact_.makes(at)) {  // left unconverted
      const Source& made = instead_[i.in[0]];
      const size_t size = size_of(code_[compact_.maker(at, 0)].dtype);
      return made.place != no_place ? made : Source{i.in[0], false, pitch_of(size)};
    }
    const bool compact = i.code == Opcode::load && compact_.makes(at);
    if (compact && segment_.memory[i.index].contiguous) return in_memory(i);
    if (i.out < 0 || !only_operators_read(at)) return {};
    if (i.code == Opcode::expand) {
      if (turned()) return {i.in[0], false, 0};
      return {i.in[0], true, static_cast<int64_t>(size_of(i.type))};
    }
    if (i.code != Opcode::load || i.row) return {};
    if (turned()) return loads_row_values(at) ? Source{i.out, false, 0} : Source{};
    const Memory& memory = segment_.memory[i.index];
    if (!compact && !is_native(memory)) return {};
    if (memory.contiguous) return in_memory(i);
    if (!is_regular(memory, segment_.columns)) return readable_in_pieces(at);
    int64_t pitch = memory.layout.strides[0] * static_cast<int64_t>(size_of(memory.dtype));
    return {static_cast<int16_t>(~i.index), memory.layout.strides[1] == 0, pitch};
  }

  // The same for an operand that is read piece by piece.
  Source readable_in_pieces(size_t at) const {
    const auto m = static_cast<size_t>(code_[at].index);
    if (m >= prepared_.pieced.size() || !prepared_.pieced[m].serves) return {};
    const bool several = prepared_.pieces > 1;
    if (several && !all_read(code_, at, code_[at].out, is_operator)) return {};
    PiecedOperand& operand = prepared_.pieced[m];
    operand.is_read = true;
    return {static_cast<int16_t>(~code_[at].index), operand.repeated, operand.pitch, several};
  }

  // Makes a step go piece by piece through the tile, which is one row.
  void go_by_pieces(Step* step) const {
    step->traversal = Traversal::pieces;
    for (Source& in : step->in) {
      if (in.place == no_place || in.pieced) continue;
      if (in.repeated) {
        in.pitch = 0;
      } else if (in.place >= 0) {
        in.pitch /= prepared_.pieces;
      } else {
        const Dtype dtype = segment_.memory[static_cast<size_t>(~in.place)].dtype;
        in.pitch = segment_.columns / prepared_.pieces * static_cast<int64_t>(size_of(dtype));
      }
    }
  }

  void go_by_panels(Step* step) const {
    for (Source& in : step->in) {
      if (in.place == no_place || in.repeated) continue;
      const int64_t size = in.place < 0
                               ? static_cast<int64_t>(size_of(segment_.memory[~in.place].dtype))
                               : in.pitch / segment_.columns;
      in.panel = row_panel * size;
    }
  }

  // A step that adds to a total is an operator whose first operand and result are the total.
  void add_total(size_t at) {
    const Instruction& i = code_[at];
    const Total& total = prepared_.totals[i.index];
    Step step;
    step.instruction = &i;
    step.operate = elementwise_operator(combiner(total.reduction), i.type);
    step.traversal = Traversal::total;
    step.out = static_cast<int16_t>(registers_ + 1 +
                                    static_cast<int16_t>(prepared_.streamed.size()) + i.index);
    step.in[0].place = step.out;
    step.in[1] = read(at, 0, size_of(i.type));
    prepared_.steps.push_back(step);
  }

  // What an instruction can read instead of its operand k's register, if anything.
  const Source* read_instead(size_t at, int k) const {
    const Instruction& i = code_[at];
    const bool in_place = reads_in_place(i) || i.code == Opcode::store || compact_.reads(at, k);
    if (!in_place || i.in[k] < 0) return nullptr;
    const Source& instead = instead_[i.in[k]];
    return instead.place == no_place ? nullptr : &instead;
  }
  Source read(size_t at, int k, size_t size) const {
    if (const Source* instead = read_instead(at, k)) return *instead;
    return {moved(code_[at].in[k]), false, pitch_of(size)};
  }
  // Bytes from one row of a register to the next.
  int64_t pitch_of(size_t size) const {
    return (turned() ? 1 : segment_.columns) * static_cast<int64_t>(size);
  }

  void add(size_t at) {
    const Instruction& i = code_[at];
    if (i.code == Opcode::total) return add_total(at);
    if (last_step_does(code_, at, segment_, compact_, &prepared_)) return;
    Step step = with_kernel(at);
    if (loads_row_values(at)) step.traversal = Traversal::row_values;
    for (int k = 0; k < 3 && i.in[k] != no_place; ++k) {
      bool condition = i.code == Opcode::select && k == 0;
      const bool changes_type =
          i.code == Opcode::elementwise || i.code == Opcode::cast || i.code == Opcode::to_boolean;
      Compute type = condition ? Compute::i32 : changes_type ? i.from : i.type;
      size_t size = size_of(type);
      if (compact_.reads(at, k)) size = size_of(code_[compact_.maker(at, k)].dtype);
      step.in[k] = read(at, k, size);
      const bool goes_on = step.in[k].pitch == pitch_of(size) && !step.in[k].repeated;
      if (read_instead(at, k) && !goes_on && (step.in[k].pitch != 0 || !step.in[k].repeated)) {
        step.traversal = turned() ? Traversal::columns : Traversal::rows;
      }
    }
    if (i.code == Opcode::load && could_be_summed(i)) step.in[0] = in_memory(i);
    const bool is_long = segment_.columns > row_panel && step.traversal == Traversal::rows;
    if (i.code == Opcode::reduce && is_long) step.traversal = Traversal::panels;
    step.out = written_by(is_gathered_there(at) ? code_[at + 1] : i);
    push(step);
  }

  // The step of an instruction, without the places it reads and writes.
  Step with_kernel(size_t at) const {
    const Instruction& i = code_[at];
    Step step;
    step.instruction = &i;
    step.traversal = i.row ? Traversal::row_values : Traversal::flat;
    step.compact = compact_.find_kernel(at, &step);
    if (step.compact) return step;
    switch (i.code) {
      case Opcode::elementwise:
        step.operate = elementwise_operator(static_cast<Elementwise>(i.detail), i.from);
        break;
      case Opcode::select: step.operate = select_operator(i.type); break;
      case Opcode::cast: step.convert = cast_kernel(i.from, i.dtype); break;
      case Opcode::to_boolean: step.convert = to_boolean_kernel(i.from); break;
      case Opcode::round: step.convert = round_kernel(i.dtype); break;
      case Opcode::load: step.convert = load_kernel(i.dtype); break;
      case Opcode::store: step.convert = store_kernel(i.dtype); break;
      case Opcode::iota:
        if (needs_rounding(i.dtype)) step.convert = round_kernel(i.dtype);
        break;
      case Opcode::reduce:
        step.operate =
            (turned() ? reduction_across : row_reduction)(static_cast<Reduction>(i.detail), i.type);
        step.traversal = Traversal::rows;
        break;
      case Opcode::expand: step.expand = row_expansion(size_of(i.type)); break;
      case Opcode::random:
        step.draw = is_floating(i.dtype) ? uniform_source(i.type) : bits_source();
        break;
      case Opcode::constant:
      case Opcode::total: break;
    }
    return step;
  }

  // A result that is written past the caches is computed in a register, where later steps read it.
  void push(Step step) {
    const Instruction& i = *step.instruction;
    const int16_t target = may_stream(i) ? moved(step.out) : step.out;
    if (target == step.out) {
      prepared_.steps.push_back(step);
      return;
    }
    Step copy;
    copy.instruction = &i;
    const Memory& memory = segment_.memory[~step.out];
    copy.convert = streaming_kernel(size_of(memory.dtype));
    copy.in[0].place = target;
    copy.out = step.out;
    const bool only_copies = i.code == Opcode::store &&
                             (step.compact ? memory.dtype != Dtype::boolean : is_native(memory));
    if (only_copies) {
      copy.in[0] = step.in[0];
    } else {
      step.out = target;
      prepared_.steps.push_back(step);
    }
    prepared_.steps.push_back(copy);
  }

  // The register that stands for memory that is written past the caches.
  int16_t moved(int16_t place) const {
    if (!prepared_.is_streamed(place)) return place;
    const std::vector<int16_t>& streamed = prepared_.streamed;
    const auto found = std::find(streamed.begin(), streamed.end(), static_cast<int16_t>(~place));
    return static_cast<int16_t>(registers_ + 1 + (found - streamed.begin()));
  }

  const std::vector<Instruction>& code_;
  int16_t registers_;
  size_t once_;
  const Segment& segment_;
  PreparedProgram& prepared_;
  CompactValues compact_;
  std::vector<Source> instead_;  // for each register, what operators read instead of it
};

}  // namespace

void make_steps(const Program& program, const Segment& segment, std::vector<int16_t> streamed,
                bool whole_rows, PreparedProgram* prepared) {
  StepMaker(program, segment, std::move(streamed), prepared).run(whole_rows);
}

bool is_native(const Memory& memory) {
  return memory.dtype != Dtype::boolean && !needs_rounding(memory.dtype);
}

bool is_regular(const Memory& memory, int64_t columns) {
  const Layout& layout = memory.layout;
  return !memory.row && !memory.contiguous && !memory.is_padded() && layout.shape.rank() == 2 &&
         layout.shape[1] == columns && (layout.strides[1] == 1 || layout.strides[1] == 0);
}

}  // namespace mt::cpu
