// SPDX-License-Identifier: Apache-2.0
// Joins the steps that compute a softmax or a norm of rows.
#include <algorithm>

#include "backends/cpu/elementwise/normalize.h"
#include "backends/cpu/elementwise/products.h"
#include "backends/cpu/elementwise/softmax.h"
#include "backends/cpu/program/join_steps.h"

namespace mt::cpu {
namespace {

// Whether step `at` applies `code` to the previous row value, read only here, and to constants.
bool goes_on(const std::vector<Step>& steps, size_t at, Elementwise code) {
  const Step &before = steps[at - 1], &step = steps[at];
  const bool is_it = is_elementwise(step) && step.instruction->row &&
                     static_cast<Elementwise>(step.instruction->detail) == code;
  return is_it && only_next_reads(steps, at - 1) && step.in[0].place == before.out &&
         (step.in[1].place == no_place || step.in[1].repeated);
}

// Joins the steps from `at` on that normalize rows; returns how many, or 0. The mean and the scale
// are always written, the deviations if they are stored or read later.
size_t join_normalization(const std::vector<Step>& steps, size_t at, Step* joined) {
  constexpr Elementwise add = Elementwise::add, div = Elementwise::div, mul = Elementwise::mul;
  const Compute type = steps[at].instruction->type;
  const bool centred = reduces_rows(steps[at], row_reduction(Reduction::sum, type));
  const size_t squares = centred ? at + 2 : at, last = squares + 4;
  if (last >= steps.size() || !normalize_operator(centred, type) ||
      !reduces_rows(steps[squares],
                    centred ? row_sum_of_deviations(type) : row_sum_of_squares(type)) ||
      !goes_on(steps, squares + 1, div) || !goes_on(steps, squares + 2, add) ||
      !goes_on(steps, squares + 3, Elementwise::rsqrt)) {
    return 0;
  }
  const Step &sum = steps[squares], &scale = steps[squares + 3], &end = steps[last];
  const Source values = centred ? sum.in[2] : sum.in[0];
  const Operator ends =
      centred ? scaled_sum_operator(type) : paired_operator(mul, mul, false, type);
  if (!end.operate || end.operate != ends || end.instruction->row || end.in_pieces() ||
      end.in[0].place != values.place || end.in[1].place != scale.out || !end.in[1].repeated ||
      end.in[2].repeated || (centred && end.in[3].repeated)) {
    return 0;
  }
  // Row values are written before all elements are, so they need places of their own.
  if (scale.out == end.out || (centred && steps[at + 1].out == end.out)) return 0;
  if (centred && (!goes_on(steps, at + 1, div) || sum.in[0].place != steps[at].in[0].place ||
                  sum.in[1].place != steps[at + 1].out)) {
    return 0;
  }
  *joined = end;
  joined->traversal = Traversal::rows;
  joined->operate = nullptr;
  joined->operate_all = normalize_operator(centred, type);
  std::fill(joined->in, joined->in + 4, Source{});
  std::vector<Source>& all = joined->all;
  all.resize(normalization::count);
  all[normalization::x] = sum.in[0];
  all[normalization::square_of] = steps[squares + 1].in[1];
  all[normalization::epsilon] = steps[squares + 2].in[1];
  all[normalization::weight] = end.in[2];
  all[normalization::scale] = {scale.out, true};
  if (!centred) return 5;
  all[normalization::mean_of] = steps[at + 1].in[1];
  all[normalization::bias] = end.in[3];
  all[normalization::mean] = {steps[at + 1].out, true};
  const bool kept = values.place < 0 || is_read_later(steps, last, values.place);
  if (kept) all[normalization::deviations] = values;
  return 7;
}

// Joins the steps from `at` on that compute a softmax; returns how many, or 0. Each row's values
// are always written, the exponentials if they are stored or read later.
size_t join_softmax(const std::vector<Step>& steps, size_t at, Step* joined) {
  constexpr size_t count = 4;
  if (at + count > steps.size()) return 0;
  const Step &largest = steps[at], &sum = steps[at + 1], &inverse = steps[at + 2];
  const Step& share = steps[at + 3];
  const Compute type = largest.instruction->type;
  const Operator kernel = softmax_operator(type);
  auto is_operator = [](const Step& step, Elementwise code) {
    return is_elementwise(step) && static_cast<Elementwise>(step.instruction->detail) == code;
  };
  if (!kernel || !reduces_rows(largest, row_reduction(Reduction::max, type)) ||
      !reduces_rows(sum, row_sum_of_exponentials(type, true)) ||
      !is_operator(inverse, Elementwise::reciprocal) || !inverse.instruction->row ||
      !is_operator(share, Elementwise::mul) || share.instruction->row || share.in_pieces()) {
    return 0;
  }
  const Source &x = largest.in[0], &exponentials = sum.in[2];
  const bool flows = sum.in[0].place == x.place && sum.in[1].place == largest.out &&
                     inverse.in[0].place == sum.out && share.in[0].place == exponentials.place &&
                     !share.in[0].repeated && share.in[1].place == inverse.out &&
                     share.in[1].repeated;
  // Row values are written before all elements are, so they need places of their own.
  bool apart = true;
  for (const Step* number : {&largest, &sum, &inverse}) {
    apart &= number->out != share.out && number->out != exponentials.place;
  }
  if (!flows || !apart) return 0;
  *joined = share;
  joined->traversal = Traversal::rows;
  joined->operate = nullptr;
  joined->operate_all = kernel;
  std::fill(joined->in, joined->in + 4, Source{});
  std::vector<Source>& all = joined->all;
  all.resize(shares::count);
  all[shares::x] = x;
  all[shares::largest] = {largest.out, true};
  all[shares::sum] = {sum.out, true};
  all[shares::inverse] = {inverse.out, true};
  const bool kept = exponentials.place < 0 || (share.out != exponentials.place &&
                                               is_read_later(steps, at + 3, exponentials.place));
  if (kept) all[shares::exponentials] = exponentials;
  return count;
}

}  // namespace

bool reduces_rows(const Step& step, Operator kernel) {
  return kernel && step.operate == kernel && step.instruction->code == Opcode::reduce &&
         step.traversal == Traversal::rows && !step.in[0].repeated;
}

bool is_read_later(const std::vector<Step>& steps, size_t at, int16_t place) {
  for (size_t later = at + 1; later < steps.size(); ++later) {
    if (steps[later].reads(place)) return true;
    if (steps[later].out == place) return false;
  }
  return false;
}

size_t join_rows(const std::vector<Step>& steps, size_t at, Step* joined) {
  if (const size_t count = join_normalization(steps, at, joined)) return count;
  return join_softmax(steps, at, joined);
}

}  // namespace mt::cpu
