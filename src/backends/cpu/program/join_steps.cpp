// SPDX-License-Identifier: Apache-2.0
// Joins two steps where nothing else reads what the first computes, so that it need not be stored.
#include <algorithm>
#include <utility>

#include "backends/cpu/elementwise/one_hot.h"
#include "backends/cpu/elementwise/products.h"
#include "backends/cpu/program/join_steps.h"
#include "backends/cpu/program/totals.h"

namespace mt::cpu {
namespace {

// Whether the step takes one element of each row of a transposed tile.
bool takes_one_across(const Step& step) {
  const Instruction& i = *step.instruction;
  return i.code == Opcode::select && step.operate && step.operate == one_hot_operator(i.type, true);
}

// Joins a sum of rows and the step that makes what it sums, which others read too unless `alone`.
bool join_sum(const Step& first, const Step& second, bool alone, Step* joined) {
  const Instruction &f = *first.instruction, &s = *second.instruction;
  if (static_cast<Reduction>(s.detail) != Reduction::sum || f.row) return false;
  const Source &a = first.in[0], &b = first.in[1];
  joined->operate = nullptr;
  if (f.code == Opcode::load) {
    if (alone && a.place != no_place) joined->operate = row_sum_of_halves(f.dtype);
  } else if (f.code == Opcode::select) {
    const bool across = takes_one_across(first);
    const bool takes_one =
        across || (first.operate && first.operate == one_hot_operator(f.type, false));
    const bool others_are_one = first.in[2].repeated;
    if (takes_one && others_are_one && alone) joined->operate = row_sum_of_one_hot(f.type, across);
    joined->traversal = Traversal::few;
  } else if (first.is_pair) {
    const Operator exponentials =
        paired_operator(Elementwise::sub, Elementwise::exp, false, f.from);
    if (a.repeated || !b.repeated || first.operate != exponentials) return false;
    joined->operate = row_sum_of_exponentials(f.from, !alone);
    joined->is_slow = true;
    if (!alone) joined->in[2] = second.in[0];
  } else if (alone && is_elementwise(first) && !a.repeated && !b.repeated) {
    const auto code = static_cast<Elementwise>(f.detail);
    const bool product = code == Elementwise::mul;
    const bool square = code == Elementwise::square || (product && a.place == b.place);
    if (product) joined->operate = row_sum_of_products(f.from);
    if (square) joined->operate = row_sum_of_squares(f.from);
  }
  return joined->operate;
}

// Joins the subtraction of a row value and the sum of the squared differences, as in a variance.
bool join_deviation(const Step& first, const Step& second, Step* joined) {
  const Instruction &f = *first.instruction, &s = *second.instruction;
  if (!is_elementwise(first) || static_cast<Elementwise>(f.detail) != Elementwise::sub || f.row ||
      first.in[0].repeated || !first.in[1].repeated || first.in_pieces() || !second.operate ||
      s.code != Opcode::reduce || second.operate != row_sum_of_squares(s.type) ||
      second.in[0].place != first.out) {
    return false;
  }
  *joined = second;
  joined->operate = row_sum_of_deviations(s.type);
  joined->is_slow = true;
  std::copy(first.in, first.in + 2, joined->in);
  joined->in[2] = second.in[0];
  return joined->operate;
}

// Joins an operator and the total of its results, if there is a kernel.
bool join_total(const Step& first, const Step& second, Step* joined) {
  const Instruction &f = *first.instruction, &s = *second.instruction;
  auto code = static_cast<Elementwise>(f.detail);
  if (info(code).arity != 2 || f.row || f.from != s.type) return false;
  joined->operate = paired_operator(code, combiner(static_cast<Reduction>(s.detail)), true, f.from);
  joined->in[2] = second.in[0];
  return joined->operate;
}

// Joins `first` and `second`, which reads its result, if there is a kernel.
bool join(const Step& first, const Step& second, bool alone, Step* joined) {
  const Instruction &f = *first.instruction, &s = *second.instruction;
  auto code = static_cast<Elementwise>(f.detail);
  *joined = second;
  joined->is_pair = true;
  std::copy(std::begin(first.in), std::end(first.in), joined->in);
  // Reductions need whole rows.
  if (first.in_pieces() && (s.code == Opcode::reduce || s.code == Opcode::total)) return false;
  if (s.code == Opcode::reduce) return join_sum(first, second, alone, joined);
  if (!alone || !is_elementwise(first)) return false;
  if (s.code == Opcode::total) return join_total(first, second, joined);
  if (!is_elementwise(second) || f.row != s.row || f.from != s.from) return false;
  if (code == Elementwise::square) {  // a product like any other
    code = Elementwise::mul;
    joined->in[1] = joined->in[0];
  }
  bool right = second.in[0].place != first.out;
  joined->operate = paired_operator(code, static_cast<Elementwise>(s.detail), right, f.from);
  if (info(static_cast<Elementwise>(s.detail)).arity == 2) {
    joined->in[info(code).arity] = second.in[right ? 0 : 1];
  }
  if (first.traversal != Traversal::flat) joined->traversal = first.traversal;
  return joined->operate;
}

// Joins two products that are added, or one of which is subtracted from the other.
bool join_products(const Step& first, const Step& second, Step* joined) {
  const Instruction &f = *first.instruction, &s = *second.instruction;
  if (f.code != Opcode::elementwise || s.code != Opcode::elementwise || !second.is_pair ||
      f.row != s.row || f.from != s.from || second.in[2].place != first.out) {
    return false;
  }
  constexpr Elementwise mul = Elementwise::mul;
  const auto last = static_cast<Elementwise>(s.detail);
  const bool right = second.operate == paired_operator(mul, last, true, s.from);
  if (!right && second.operate != paired_operator(mul, last, false, s.from)) return false;
  const bool squared = first.operate == paired_operator(mul, mul, false, f.from) &&
                       first.in[0].place == first.in[1].place;
  if (!squared && first.operate != elementwise_operator(mul, f.from)) return false;
  *joined = second;
  joined->operate = products_operator(last, right, squared, s.from);
  joined->in[2] = first.in[0];
  joined->in[3] = first.in[squared ? 2 : 1];
  // Repeated numbers come last, where the kernel expects them.
  if (joined->in[0].repeated) std::swap(joined->in[0], joined->in[1]);
  if (joined->in[2].repeated && !squared) std::swap(joined->in[2], joined->in[3]);
  if (first.traversal != Traversal::flat) joined->traversal = first.traversal;
  return joined->operate;
}

// Joins a product of three factors, or of a difference and a factor, and what is added to it.
bool join_scaled_sum(const Step& first, const Step& second, Step* joined) {
  const Instruction &f = *first.instruction, &s = *second.instruction;
  constexpr Elementwise mul = Elementwise::mul;
  if (!first.is_pair || f.code != Opcode::elementwise || !is_elementwise(second) ||
      static_cast<Elementwise>(s.detail) != Elementwise::add || f.row != s.row ||
      f.from != s.from) {
    return false;
  }
  const bool centred = first.operate == paired_operator(Elementwise::sub, mul, false, f.from);
  if (!centred && first.operate != paired_operator(mul, mul, false, f.from)) return false;
  *joined = second;
  joined->operate = (centred ? centred_sum_operator : scaled_sum_operator)(s.from);
  joined->is_pair = true;
  std::copy(first.in, first.in + 3, joined->in);
  joined->in[3] = second.in[second.in[0].place == first.out ? 1 : 0];
  if (first.traversal != Traversal::flat) joined->traversal = first.traversal;
  return joined->operate;
}

// Whether only step `reader` reads the result of step `made`, and could compute it itself: the
// operands are still there.
bool could_compute(const std::vector<Step>& steps, size_t made, size_t reader) {
  const Step& first = steps[made];
  for (size_t at = made + 1; at < steps.size(); ++at) {
    if (at != reader && steps[at].reads(first.out)) return false;
    if (steps[at].out == first.out) break;
  }
  for (size_t at = made + 1; at < reader; ++at) {
    const Step& step = steps[at];
    // A reduction may also write its terms.
    const bool reduces = step.instruction->code == Opcode::reduce;
    for (const Source& in : first.in) {
      if (in.place == no_place) continue;
      if (step.out == in.place || (reduces && step.reads(in.place))) return false;
    }
    if (step.out == first.out) return false;
  }
  return true;
}

// Joins a product and the total of its product with another value.
bool join_scaled_total(const Step& product, const Step& total, Step* joined) {
  const Instruction &p = *product.instruction, &t = *total.instruction;
  constexpr Elementwise mul = Elementwise::mul;
  if (t.code != Opcode::total || !total.is_pair || !is_elementwise(product) || p.row ||
      product.out < 0 || static_cast<Elementwise>(p.detail) != mul || p.from != t.type ||
      product.in_pieces() ||
      total.operate != paired_operator(mul, Elementwise::add, true, t.type)) {
    return false;
  }
  const int k = total.in[0].place == product.out ? 0 : 1;
  if (total.in[k].place != product.out || total.in[1 - k].place == product.out) return false;
  *joined = total;
  joined->operate = scaled_sum_operator(t.type);
  std::copy(product.in, product.in + 2, joined->in);
  joined->in[2] = total.in[1 - k];
  joined->in[3] = total.in[2];  // the total, the same for all rows
  return joined->operate;
}
void join_scaled_totals(std::vector<Step>* steps) {
  for (size_t at = 1; at < steps->size(); ++at) {
    for (size_t made = at; made-- > 0;) {
      Step joined;
      if (!join_scaled_total((*steps)[made], (*steps)[at], &joined)) continue;
      if (could_compute(*steps, made, at)) {
        (*steps)[at] = joined;
        steps->erase(steps->begin() + static_cast<ptrdiff_t>(made));
        --at;
      }
      break;
    }
  }
}

}  // namespace

bool is_elementwise(const Step& step) {
  return step.operate && !step.compact && !step.is_pair &&
         step.instruction->code == Opcode::elementwise;
}

bool only_next_reads(const std::vector<Step>& steps, size_t at) {
  int16_t value = steps[at].out;
  if (value < 0) return false;
  const auto& in = steps[at + 1].in;
  auto times = std::count_if(std::begin(in), std::end(in),
                             [&](const Source& source) { return source.place == value; });
  if (times != 1) return false;
  for (size_t later = at + 1; later < steps.size(); ++later) {
    if (later > at + 1 && steps[later].reads(value)) return false;
    if (steps[later].out == value) return true;
  }
  return true;
}

void join_steps(std::vector<Step>* steps, bool with_reductions) {
  std::vector<Step> kept;
  kept.reserve(steps->size());
  for (size_t at = 0; at < steps->size(); ++at) {
    kept.push_back((*steps)[at]);
    for (Step joined; at + 1 < steps->size(); ++at) {
      const Step& next = (*steps)[at + 1];
      const bool reduces = next.instruction->code == Opcode::reduce;
      const bool may_reduce = with_reductions || takes_one_across(kept.back());
      if ((reduces && !may_reduce) || !next.reads(kept.back().out)) break;
      if (!join(kept.back(), next, only_next_reads(*steps, at), &joined)) break;
      kept.back() = joined;
    }
  }
  for (size_t at = 1; at < kept.size(); ++at) {
    const Step &first = kept[at - 1], &second = kept[at];
    Step joined;
    if (!join_deviation(first, second, &joined) &&
        (!only_next_reads(kept, at - 1) ||
         (!join_products(first, second, &joined) && !join_scaled_sum(first, second, &joined)))) {
      continue;
    }
    kept[at] = joined;
    kept.erase(kept.begin() + static_cast<ptrdiff_t>(--at));
  }
  join_scaled_totals(&kept);
  join_many(&kept);
  *steps = std::move(kept);
}

}  // namespace mt::cpu
