// SPDX-License-Identifier: Apache-2.0
// Joins sequences of steps that occur wherever networks are trained, keeping in registers what they
// compute.
#include <algorithm>

#include "backends/cpu/elementwise/moments.h"
#include "backends/cpu/elementwise/products.h"
#include "backends/cpu/program/join_steps.h"

namespace mt::cpu {
namespace {

// Joins the five steps of Adam and AdamW: two moving averages, a square root times a number, a
// quotient by a sum with a number, and the difference of two products.
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
  // Stored in memory: registers have room for one tile, and this step may run beyond one.
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

// Replaces `count` steps from `at` on by `joined`.
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
    } else if (const size_t count = join_rows(*steps, at, &joined)) {
      replace(steps, at, count, joined);
    }
  }
  join_norm_gradients(steps);
}

}  // namespace mt::cpu
