// SPDX-License-Identifier: Apache-2.0
// Two steps in one, where nobody else reads what the first computes: it need not be stored.
#include <algorithm>

#include "backends/cpu/program/program.h"
#include "backends/cpu/program/totals.h"

namespace mt::cpu {
namespace {

// Whether it does one operator and nothing else.
bool is_elementwise(const Step& step) {
  return step.operate && !step.stored && !step.is_pair &&
         step.instruction->code == Opcode::elementwise;
}

// Whether of the steps after `at` only the next one reads the register that it writes, and once.
bool only_next_reads(const std::vector<Step>& steps, size_t at) {
  int16_t value = steps[at].out;
  if (value < 0) return false;
  auto times = std::count_if(steps[at + 1].in, steps[at + 1].in + 3,
                             [&](const Source& in) { return in.place == value; });
  if (times != 1) return false;
  for (size_t later = at + 1; later < steps.size(); ++later) {
    if (later > at + 1 && steps[later].reads(value)) return false;
    if (steps[later].out == value) return true;
  }
  return true;
}

// One step for an operator and the total of what it computes, if there is a kernel.
bool join_total(const Step& first, const Step& second, Step* joined) {
  const Instruction &f = *first.instruction, &s = *second.instruction;
  auto code = static_cast<Elementwise>(f.detail);
  if (info(code).arity != 2 || f.row || f.from != s.type) return false;
  joined->operate = paired_operator(code, combiner(static_cast<Reduction>(s.detail)), true, f.from);
  joined->in[2] = second.in[0];
  return joined->operate;
}

// One step for `first` and the `second`, which alone reads what it computes, if there is a kernel.
bool join(const Step& first, const Step& second, Step* joined) {
  const Instruction &f = *first.instruction, &s = *second.instruction;
  auto code = static_cast<Elementwise>(f.detail);
  *joined = second;
  joined->is_pair = true;
  std::copy(first.in, first.in + 3, joined->in);
  if (s.code == Opcode::reduce) {
    bool rows = !first.in[0].repeated && !first.in[1].repeated && !f.row;
    if (static_cast<Reduction>(s.detail) != Reduction::sum || !rows) return false;
    bool square = code == Elementwise::square ||
                  (code == Elementwise::mul && first.in[0].place == first.in[1].place);
    joined->operate = square                     ? row_sum_of_squares(f.from)
                      : code == Elementwise::mul ? row_sum_of_products(f.from)
                                                 : nullptr;
    return joined->operate;
  }
  if (s.code == Opcode::total) return join_total(first, second, joined);
  if (!is_elementwise(second) || f.row != s.row || f.from != s.from || info(code).arity != 2) {
    return false;
  }
  bool right = second.in[0].place != first.out;
  joined->operate = paired_operator(code, static_cast<Elementwise>(s.detail), right, f.from);
  if (info(static_cast<Elementwise>(s.detail)).arity == 2) joined->in[2] = second.in[right ? 0 : 1];
  if (first.extent != Extent::flat) joined->extent = first.extent;
  return joined->operate;
}

}  // namespace

void join_steps(std::vector<Step>* steps, bool with_reductions) {
  std::vector<Step> kept;
  for (size_t at = 0; at < steps->size(); ++at) {
    Step joined;
    bool next = at + 1 < steps->size() &&
                (with_reductions || (*steps)[at + 1].instruction->code != Opcode::reduce);
    if (next && is_elementwise((*steps)[at]) && only_next_reads(*steps, at) &&
        join((*steps)[at], (*steps)[at + 1], &joined)) {
      kept.push_back(joined);
      ++at;
    } else {
      kept.push_back((*steps)[at]);
    }
  }
  *steps = std::move(kept);
}

}  // namespace mt::cpu
