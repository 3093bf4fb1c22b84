// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/program/parts.h"

#include <algorithm>
#include <iterator>

#include "base/rounding.h"

namespace mt::cpu {
namespace {

// Elements of a part, rounded up to whole pieces (pieces.h); fewest parts of a row.
constexpr int64_t part_elements = 1024, fewest_parts = 2;

// Whether the step can run on part of a row just as on all of it.
bool takes_parts(const Step& step) {
  if (step.operate_all || step.instruction->code == Opcode::reduce || step.whole_rows) return false;
  switch (step.traversal) {
    case Traversal::flat:
    case Traversal::rows:
    case Traversal::pieces: return true;
    default: return false;
  }
}

bool touches(const Step& step, const Step& other) {
  return step.reads(other.out) || other.reads(step.out) || step.out == other.out;
}

// Moves steps on row values before those that run in parts; returns where the latter begin.
size_t order_steps(std::vector<Step>& steps) {
  size_t first = steps.size();
  while (first > 0 && (takes_parts(steps[first - 1]) || !steps[first - 1].is_long())) --first;
  for (size_t at = first; at < steps.size(); ++at) {
    if (steps[at].is_long()) continue;
    const auto from = steps.begin() + static_cast<ptrdiff_t>(first);
    const auto step = steps.begin() + static_cast<ptrdiff_t>(at);
    if (std::any_of(from, step, [&](const Step& before) { return touches(*step, before); })) {
      first = at + 1;
    } else {
      std::rotate(from, step, step + 1);
      ++first;
    }
  }
  return first;
}

// Registers of a row's elements that steps before `first` fill and later steps read.
std::vector<PreparedProgram::Carried> carried_registers(const Segment& segment,
                                                        const PreparedProgram& prepared,
                                                        size_t first) {
  const std::vector<Step>& steps = prepared.steps;
  const auto begin = steps.begin() + static_cast<ptrdiff_t>(first);
  std::vector<PreparedProgram::Carried> carried;
  for (auto step = begin; step != steps.end(); ++step) {
    const int64_t parts = step->traversal == Traversal::pieces ? prepared.pieces : 1;
    for (const Source& in : step->in) {
      if (in.place < 0 || in.repeated) continue;
      auto writes = [&](const Step& s) { return s.out == in.place; };
      auto known = [&](const PreparedProgram::Carried& c) { return c.place == in.place; };
      if (std::any_of(begin, step, writes) || std::any_of(carried.begin(), carried.end(), known)) {
        continue;
      }
      // Some steps also write elements they work with to a place among their operands, for others.
      auto touches = [&](const Step& s) {
        const bool may_leave = s.instruction->code == Opcode::reduce || s.operate_all;
        return writes(s) || (may_leave && s.reads(in.place));
      };
      const auto maker = std::find_if(std::make_reverse_iterator(begin), steps.rend(), touches);
      if (maker == steps.rend() || !maker->is_long()) continue;
      const bool row_value = writes(*maker) && maker->instruction->code == Opcode::reduce;
      if (!row_value) carried.push_back({in.place, in.pitch * parts / segment.columns});
    }
  }
  return carried;
}

}  // namespace

void find_parts(const Segment& segment, PreparedProgram* prepared) {
  std::vector<Step>& steps = prepared->steps;
  if (prepared->tile_rows != 1 || prepared->is_turned() || prepared->walk != Walk::rows) return;
  int64_t part = part_elements;
  const bool in_pieces =
      std::any_of(steps.begin(), steps.end(), [](const Step& step) { return step.in_pieces(); });
  if (in_pieces) part = round_up(part, segment.columns / prepared->pieces);
  if (segment.columns < fewest_parts * part) return;
  const size_t first = order_steps(steps);
  if (steps.size() - first < 2) return;
  auto carried = carried_registers(segment, *prepared, first);
  // Wider elements would overwrite those of the next part.
  for (const PreparedProgram::Carried& c : carried) {
    auto writes = [&](const Step& step) { return step.out == c.place; };
    const bool written =
        std::any_of(steps.begin() + static_cast<ptrdiff_t>(first), steps.end(), writes);
    if (written && c.element != element_bytes(*prepared->program)) return;
  }
  prepared->carried = std::move(carried);
  prepared->first_in_parts = first;
  prepared->part = part;
}

}  // namespace mt::cpu
