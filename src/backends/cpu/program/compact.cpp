// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/program/compact.h"

#include <algorithm>

#include "backends/cpu/elementwise/compact.h"
#include "backends/cpu/strided/strided.h"

namespace mt::cpu {
namespace {

bool is_small(Dtype dtype) { return size_of(dtype) < 4; }

template <size_t size>
void copy(void* out, const void* const* inputs, int64_t n) {
  copy_bytes(out, inputs[0], size * static_cast<size_t>(n));
}

bool has_truth(const Instruction& i) {
  return i.code == Opcode::elementwise && info(static_cast<Elementwise>(i.detail)).boolean_result;
}

}  // namespace

CompactValues::CompactValues(const Program& program, int64_t columns, Reduced reduced, bool none)
    : code_(program.instructions), once_(program.once), columns_(columns), reduced_(reduced) {
  const size_t count = code_.size();
  auto is_candidate = [&](const Instruction& i) {
    return !i.row && i.out >= 0 && is_small(i.dtype) &&
           (i.code == Opcode::load || i.code == Opcode::to_boolean || has_truth(i));
  };
  if (none || std::none_of(code_.begin() + once_, code_.end(), is_candidate)) return;
  makers_.resize(count);
  std::vector<int> made(static_cast<size_t>(program.registers), -1);
  for (size_t at = 0; at < count; ++at) {
    const Instruction& i = code_[at];
    for (int k = 0; k < 3; ++k) {
      if (i.in[k] >= 0) makers_[at].of[k] = made[i.in[k]];
    }
    if (i.out >= 0) made[i.out] = static_cast<int>(at);
  }
  // Begins with all; drops those that cannot be produced or read compact until nothing changes.
  stays_.assign(count, true);
  for (int at = 0; at < once_; ++at) stays_[at] = is_half(code_[at].dtype);
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t at = once_; at < count; ++at) {
      auto drop = [&](size_t maker) {
        stays_[maker] = false;
        changed = true;
      };
      if (stays_[at] && !can_make(at)) drop(at);
      for (int k = 2; k >= 0; --k) {  // the alternatives of a select before its condition
        if (reads(at, k) && !can_read(at, k)) drop(static_cast<size_t>(makers_[at].of[k]));
      }
    }
  }
}

bool CompactValues::reads(size_t at, int k) const {
  if (stays_.empty()) return false;
  const int maker = makers_[at].of[k];
  return maker >= 0 && stays_[maker];
}

// Whether the operands of an operator, or the alternatives of a select, are all compact values of
// one type, or numbers.
bool CompactValues::reads_only(size_t at) const {
  const Instruction& i = code_[at];
  const int first = i.code == Opcode::select ? 1 : 0;
  const Instruction* some = nullptr;
  for (int k = first; k < 3 && i.in[k] != no_place; ++k) {
    const int maker = makers_[at].of[k];
    if (maker < 0) return false;
    // The first bytes of a number that is an integer are the compact one.
    const Instruction& made = code_[maker];
    if (!reads(at, k) && (!is_number(maker) || is_floating(made.dtype))) return false;
    if (some && some->dtype != made.dtype) return false;
    some = &made;
  }
  return some != nullptr;
}

// Whether a cast is to 64 bits, and only the next instruction reads its result and sums it.
bool CompactValues::is_summed(size_t at) const {
  const Instruction& i = code_[at];
  if (at + 1 == code_.size() || !reads(at, 0) || i.from != Compute::i32) return false;
  const Instruction& next = code_[at + 1];
  const bool wide = i.type == Compute::i64 || i.type == Compute::u64;
  if (!wide || next.code != Opcode::reduce || next.in[0] != i.out) return false;
  if (static_cast<Reduction>(next.detail) != Reduction::sum) return false;
  for (size_t later = at + 2; later < code_.size(); ++later) {
    for (int k = 0; k < 3; ++k) {
      if (makers_[later].of[k] == static_cast<int>(at)) return false;
    }
  }
  // A row's sum must not overwrite rows that are still to be read: it is no longer than a row with
  // as many elements as the sum has bytes, since each has at least one.
  constexpr int64_t sum_bytes = sizeof(int64_t);
  return reduced_ != Reduced::rows || next.out != i.in[0] || columns_ >= sum_bytes;
}

bool CompactValues::can_make(size_t at) const {
  const Instruction& i = code_[at];
  if (i.row || i.out < 0) return false;  // written directly to memory, in its stored form
  if (i.code == Opcode::cast && is_summed(at)) return true;
  if (!is_small(i.dtype)) return false;
  switch (i.code) {
    case Opcode::load: return true;
    case Opcode::to_boolean: return true;
    case Opcode::round:
      // In place there is nothing to do.
      return reads(at, 0) && i.out == i.in[0] && code_[makers_[at].of[0]].dtype == i.dtype;
    case Opcode::elementwise: return operator_of(at) != nullptr;
    case Opcode::select: return reads_only(at) && operator_of(at) != nullptr;
    default: return false;
  }
}

Operator CompactValues::operator_of(size_t at) const {
  const Instruction& i = code_[at];
  if (stays_.empty() || i.row) return nullptr;
  if (i.code == Opcode::select) {
    if (!reads(at, 0)) return nullptr;
    const bool small = is_small(i.dtype) && reads_only(at);
    // Booleans in memory may have values other than 0 and 1.
    const bool chooses_booleans = small && i.dtype == Dtype::boolean;
    if (chooses_booleans || (small && !stays_[at])) return nullptr;
    return compact_select_operator(small ? size_of(i.dtype) : size_of(i.type));
  }
  if (i.code != Opcode::elementwise || !stays_[at]) return nullptr;
  const auto code = static_cast<Elementwise>(i.detail);
  for (int k = 0; k < 3; ++k) {
    if (reads(at, k) && !is_number(makers_[at].of[k])) {
      if (!reads_only(at)) return nullptr;
      return compact_operator(code, code_[makers_[at].of[k]].dtype);
    }
  }
  return has_truth(i) ? truth_operator(code, i.from) : nullptr;
}

bool CompactValues::can_read(size_t at, int k) const {
  const Instruction& i = code_[at];
  if (i.row && i.code != Opcode::reduce) return false;
  const auto maker = static_cast<size_t>(makers_[at].of[k]);
  if (is_number(makers_[at].of[k])) return stays_[at] && is_operator(i) && reads_only(at);
  switch (i.code) {
    case Opcode::elementwise: return stays_[at];
    case Opcode::select:
      if (!operator_of(at)) return false;
      // A wider result would overwrite conditions that are still to be read.
      return k > 0 ? stays_[at] : i.out != i.in[0] || (stays_[at] && size_of(i.dtype) == 1);
    case Opcode::round:
    case Opcode::cast: return stays_[at];
    case Opcode::reduce: {
      const Instruction& made = code_[this->maker(at, k)];
      return reduced_ != Reduced::columns &&
             compact_reduction(static_cast<Reduction>(i.detail), made.dtype);
    }
    case Opcode::to_boolean: return stays_[at] && size_of(code_[maker].dtype) == 1;
    case Opcode::store: return i.dtype == code_[maker].dtype && code_[maker].code != Opcode::cast;
    default: return false;
  }
}

size_t CompactValues::maker(size_t at, int k) const {
  auto maker = static_cast<size_t>(makers_[at].of[k]);
  const Opcode code = code_[maker].code;
  return code == Opcode::round || code == Opcode::cast ? this->maker(maker, 0) : maker;
}

bool CompactValues::find_kernel(size_t at, Step* step) const {
  const Instruction& i = code_[at];
  step->operate = operator_of(at);
  if (step->operate) return true;
  if (i.code == Opcode::load) return makes(at);  // gathered without conversion
  if (i.code == Opcode::reduce && reads(at, 0)) {
    const Dtype dtype = code_[maker(at, 0)].dtype;
    step->operate = compact_reduction(static_cast<Reduction>(i.detail), dtype);
    step->traversal = Traversal::rows;
    return true;
  }
  if (i.code == Opcode::to_boolean && makes(at)) {
    step->convert = reads(at, 0) ? truth_of_bytes_kernel() : truth_kernel(i.from);
  } else if (i.code == Opcode::store && reads(at, 0)) {
    // Booleans in memory may have values other than 0 and 1.
    const bool is_loaded = code_[maker(at, 0)].code == Opcode::load;
    step->convert = i.dtype == Dtype::boolean && is_loaded ? truth_of_bytes_kernel()
                    : size_of(i.dtype) == 1                ? copy<1>
                                                           : copy<2>;
  }
  return step->convert != nullptr;
}

}  // namespace mt::cpu
