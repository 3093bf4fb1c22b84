// SPDX-License-Identifier: Apache-2.0
// Steps that follow one another wherever networks are trained, as one, which keeps in registers
// what they compute.
#include <algorithm>

#include "backends/cpu/elementwise/moments.h"
#include "backends/cpu/elementwise/normalize.h"
#include "backends/cpu/elementwise/products.h"
#include "backends/cpu/elementwise/softmax.h"
#include "backends/cpu/program/join_steps.h"

namespace mt::cpu {
namespace {

// One step for AdamW's five: two moving averages, a root by a number, a quotient by a sum with a
// number, and two products less by one another.
bool join_moments(const Step* five, Step* joined) {
  constexpr Elementwise add = Elementwise::add, div = Elementwise::div, mul = Elementwise::mul;
  const Step &mean = five[0], &square = five[1], &root = five[2], &quotient = five[3];
  const Step& weight = five[4];
  const Compute type = weight.instruction->type;
  const Operator update = moments_operator(type);
  if (!update || mean.operate != products_operator(add, false, false, type) ||
      square.operate != products_operator(add, false, true, type) ||
      root.operate != paired_operator(Elementwise::sqrt, mul, false, type) ||
      quotient.operate != paired_operator(add, div, true, type) ||
      weight.operate != products_operator(Elementwise::sub, false, false, type)) {
    return false;
  }
  const bool flows = square.in[2].place == mean.in[2].place && root.in[0].place == square.out &&
                     quotient.in[0].place == root.out && quotient.in[2].place == mean.out &&
                     weight.in[2].place == quotient.out;
  const bool flat = std::all_of(five, five + 5, [](const Step& step) {
    return step.traversal == Traversal::flat && !step.in_pieces();
  });
  // In memory, whole: registers have room for a tile, and whoever runs this may go on beyond.
  const bool stored = mean.out < 0 && square.out < 0 && weight.out < 0;
  if (!flows || !flat || !stored) return false;
  *joined = weight;
  joined->operate = nullptr;
  joined->operate_all = update;
  std::vector<Source>& all = joined->all;
  all.resize(moments::count);
  std::copy(mean.in, mean.in + 4, &all[moments::mean_before]);
  all[moments::square_before] = square.in[0];
  all[moments::square_kept] = square.in[1];
  all[moments::square_new] = square.in[3];
  all[moments::correction] = root.in[1];
  all[moments::epsilon] = quotient.in[1];
  all[moments::weight_before] = weight.in[0];
  all[moments::weight_kept] = weight.in[1];
  all[moments::rate] = weight.in[3];
  all[moments::mean_after].place = mean.out;
  all[moments::square_after].place = square.out;
  for (int k = 0; k < moments::count; ++k) {
    const bool is_array = k == moments::mean_before || k == moments::gradient ||
                          k == moments::square_before || k == moments::weight_before ||
                          k >= moments::mean_after;
    if (all[k].repeated == is_array) return false;
  }
  return true;
}

// Whether it is that operator on a row's number, which only it reads, and on one that stays.
bool goes_on(const std::vector<Step>& steps, size_t at, Elementwise code) {
  const Step &before = steps[at - 1], &step = steps[at];
  const bool is_it = is_elementwise(step) && step.instruction->row &&
                     static_cast<Elementwise>(step.instruction->detail) == code;
  return is_it && only_next_reads(steps, at - 1) && step.in[0].place == before.out &&
         (step.in[1].place == no_place || step.in[1].repeated);
}

// Whether it reduces rows of elements by that kernel.
bool reduces_rows(const Step& step, Operator kernel) {
  return kernel && step.operate == kernel && step.instruction->code == Opcode::reduce &&
         step.traversal == Traversal::rows && !step.in[0].repeated;
}

// Whether a step after `at` reads what that place holds.
bool is_read_later(const std::vector<Step>& steps, size_t at, int16_t place) {
  for (size_t later = at + 1; later < steps.size(); ++later) {
    if (steps[later].reads(place)) return true;
    if (steps[later].out == place) return false;
  }
  return false;
}

// One step for those from `at` on that normalize rows; returns how many, or 0. The mean and the
// scale are written for whoever reads them, the deviations if somebody does.
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

// One step for those from `at` on that make a row's exponentials shares of their sum; returns how
// many, or 0. Each row's numbers are written for whoever reads them, the exponentials if somebody
// does.
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
  if (!flows) return 0;
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

// Replaces `count` steps from `at` on.
void replace(std::vector<Step>* steps, size_t at, size_t count, const Step& joined) {
  (*steps)[at] = joined;
  const auto next = steps->begin() + static_cast<ptrdiff_t>(at) + 1;
  steps->erase(next, next + static_cast<ptrdiff_t>(count) - 1);
}

}  // namespace

void join_many(std::vector<Step>* steps) {
  for (size_t at = 0; at < steps->size(); ++at) {
    Step joined;
    if (at + 5 <= steps->size() && only_next_reads(*steps, at + 2) &&
        only_next_reads(*steps, at + 3) && join_moments(&(*steps)[at], &joined)) {
      replace(steps, at, 5, joined);
    } else if (size_t count = join_normalization(*steps, at, &joined)) {
      replace(steps, at, count, joined);
    } else if (count = join_softmax(*steps, at, &joined); count > 0) {
      replace(steps, at, count, joined);
    }
  }
}

}  // namespace mt::cpu
