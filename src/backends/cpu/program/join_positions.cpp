// SPDX-License-Identifier: Apache-2.0
// Replaces select(position == index, x, y) over a row, as a loss has it, by access to that one
// element, without comparing positions.
#include "backends/cpu/elementwise/one_hot.h"
#include "backends/cpu/program/join_steps.h"

namespace mt::cpu {
namespace {

// Whether the step writes 0, 1, 2, ... into each row.
bool counts(const Step& step, const Segment& segment) {
  const Instruction& i = *step.instruction;
  if (i.code != Opcode::iota || i.row || i.type != Compute::i64 || step.out < 0) return false;
  const Layout& layout = segment.memory[i.index].layout;
  return layout.offset == 0 && layout.shape.rank() == 2 && layout.shape[1] == segment.columns &&
         layout.strides[0] == 0 && layout.strides[1] == 1;
}

class Joining {
 public:
  Joining(std::vector<Step>* steps, const Segment& segment, bool turned)
      : steps_(*steps), segment_(segment), turned_(turned) {}

  void run() {
    for (size_t at = 0; at < steps_.size(); ++at) {
      if (join(at)) steps_.erase(steps_.begin() + static_cast<ptrdiff_t>(at--));
    }
    for (size_t at = 0; at < steps_.size(); ++at) {
      if (counts(steps_[at], segment_) && reader_of(steps_[at].out, at) == steps_.size()) {
        steps_.erase(steps_.begin() + static_cast<ptrdiff_t>(at--));
      }
    }
  }

 private:
  // The first step after `at` that reads the value.
  size_t reader_of(int16_t value, size_t at) const {
    for (size_t later = at + 1; later < steps_.size(); ++later) {
      if (steps_[later].reads(value)) return later;
      if (steps_[later].out == value) break;
    }
    return steps_.size();
  }

  bool holds_positions(const Source& source, size_t at) const {
    if (source.place < 0 || source.repeated) return false;
    while (at-- > 0) {
      if (steps_[at].out == source.place) return counts(steps_[at], segment_);
    }
    return false;
  }

  // Merges the comparison `at` into the select that alone reads it.
  bool join(size_t at) {
    const Step& equal = steps_[at];
    const Instruction& i = *equal.instruction;
    bool compares = equal.operate && i.code == Opcode::elementwise && i.from == Compute::i64 &&
                    static_cast<Elementwise>(i.detail) == Elementwise::equal;
    if (!compares || i.row || equal.out < 0) return false;
    int number = holds_positions(equal.in[1], at) ? 0 : 1;
    if (number == 1 && !holds_positions(equal.in[0], at)) return false;
    Source sought = equal.in[number];
    size_t chosen = reader_of(equal.out, at);
    const bool one_for_each_row = turned_ ? sought.pitch == 0 : sought.repeated;
    if (!one_for_each_row || chosen == steps_.size()) return false;
    Step& select = steps_[chosen];
    bool once = select.out == equal.out || reader_of(equal.out, chosen) == steps_.size();
    for (size_t between = at + 1; between <= chosen; ++between) {
      // A store in between may take over the memory that holds the number.
      bool stores = sought.place < 0 && steps_[between].out < 0 && between != chosen;
      if (stores || steps_[between].out == sought.place) return false;
    }
    if (select.instruction->code != Opcode::select || !once || select.in_pieces() ||
        select.in[0].place != equal.out) {
      return false;
    }
    select.operate = one_hot_operator(select.instruction->type, turned_);
    select.in[0] = sought;
    select.traversal = turned_ ? Traversal::columns : Traversal::rows;
    select.whole_rows = true;
    return true;
  }

  std::vector<Step>& steps_;
  const Segment& segment_;
  const bool turned_;
};

}  // namespace

void join_positions(std::vector<Step>* steps, const Segment& segment, bool turned) {
  Joining(steps, segment, turned).run();
}

}  // namespace mt::cpu
