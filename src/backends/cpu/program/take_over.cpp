// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/program/take_over.h"

#include <utility>

#include "backends/cpu/program/make_steps.h"
#include "backends/cpu/program/totals.h"

namespace mt::cpu {
namespace {

// One instruction that may be taken over.
class TakeOver {
 public:
  TakeOver(const std::vector<Instruction>& code, size_t at, const Segment& segment,
           const CompactValues& compact, PreparedProgram* prepared)
      : code_(code),
        at_(at),
        i_(code[at]),
        segment_(segment),
        compact_(compact),
        prepared_(*prepared),
        last_(prepared->steps.back()) {}

  bool run() {
    switch (i_.code) {
      case Opcode::store: return compact_.reads(at_, 0) ? ends_there() : loads_there();
      case Opcode::cast: return casts_as_loaded();
      case Opcode::reduce: return reduces_runs();
      default: return false;
    }
  }

 private:
  // Writes a value straight to where a store would only copy it.
  bool ends_there() {
    const Instruction& maker = code_[compact_.maker(at_, 0)];
    if (last_.instruction != &maker || maker.code == Opcode::load) return false;
    return writes_there();
  }

  // The same for a load; what has to be gathered first needs a register.
  bool loads_there() {
    if (i_.row || prepared_.is_turned() || !is_native(segment_.memory[i_.index])) return false;
    const Instruction& maker = *last_.instruction;
    if (maker.code != Opcode::load || maker.row || !segment_.memory[maker.index].contiguous ||
        maker.out != i_.in[0] || last_.out != i_.in[0]) {
      return false;
    }
    return writes_there();
  }

  bool writes_there() {
    const int16_t place = written_by(i_);
    if (prepared_.is_streamed(place) || !is_last_read(code_, at_)) return false;
    last_.out = place;
    return true;
  }

  // Whether the last step loads the instruction's operand, which no later instruction reads.
  bool is_its_load() const {
    const Instruction& maker = *last_.instruction;
    return maker.code == Opcode::load && !last_.compact && last_.out == i_.in[0] &&
           maker.out == last_.out && is_last_read(code_, at_);
  }

  // Loads narrow integers directly as the float32 that the cast would make of them.
  bool casts_as_loaded() {
    if (i_.type != Compute::f32 || !is_its_load()) return false;
    const Instruction& load = *last_.instruction;
    const Kernel kernel = load.row == i_.row ? load_floats_kernel(load.dtype) : nullptr;
    if (!kernel) return false;
    last_.convert = kernel;
    last_.out = i_.out;
    return true;
  }

  // Reduces rows that lie in runs in place instead of gathering them.
  bool reduces_runs() {
    if (!is_its_load() || prepared_.is_turned() || prepared_.reduced != Reduced::rows) return false;
    const Instruction& load = *last_.instruction;
    const auto m = static_cast<size_t>(load.index);
    const Memory& memory = segment_.memory[m];
    if (load.row || memory.contiguous || !is_native(memory)) return false;
    Runs runs = runs_of(memory.layout, static_cast<Reduction>(i_.detail));
    if (!runs) return false;
    prepared_.runs.resize(segment_.memory.size());
    prepared_.runs[m] = std::move(runs);
    Step step;
    step.instruction = &i_;
    step.traversal = Traversal::rows;
    step.in[0].place = static_cast<int16_t>(~load.index);
    step.out = i_.out;
    last_ = step;
    return true;
  }

  const std::vector<Instruction>& code_;
  const size_t at_;
  const Instruction& i_;
  const Segment& segment_;
  const CompactValues& compact_;
  PreparedProgram& prepared_;
  Step& last_;
};

}  // namespace

bool last_step_does(const std::vector<Instruction>& code, size_t at, const Segment& segment,
                    const CompactValues& compact, PreparedProgram* prepared) {
  return !prepared->steps.empty() && TakeOver(code, at, segment, compact, prepared).run();
}

}  // namespace mt::cpu
