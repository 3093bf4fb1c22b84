// SPDX-License-Identifier: Apache-2.0
// Joins the steps of a layer norm's gradient into two.
#include <algorithm>
#include <optional>

#include "backends/cpu/elementwise/normalize_gradient.h"
#include "backends/cpu/elementwise/products.h"
#include "backends/cpu/program/join_steps.h"
#include "backends/cpu/program/totals.h"

namespace mt::cpu {
namespace {

// Where the steps are: `weighted` is dy * weight, `scaled` is that times the scale, `products` the
// sum of its products with deviations; `slopes`, after steps on row values, makes each element's
// slope; `end` follows their sum. The first step adds to the bias's total, another to the weight's.
struct NormGradient {
  size_t weighted, scaled, products, slopes, end;
  Source dy, weight, deviations, scale, weight_total, bias_total;
};

bool is_product(const Step& step, const Source& a) {
  return is_elementwise(step) && !step.instruction->row && !step.in_pieces() &&
         static_cast<Elementwise>(step.instruction->detail) == Elementwise::mul &&
         step.in[0].place == a.place && !step.in[0].repeated;
}
bool adds_total(const Step& step, Operator kernel) {
  return step.instruction->code == Opcode::total && step.operate == kernel;
}

// The steps that begin at `at`, if they are these.
std::optional<NormGradient> find_gradient(const std::vector<Step>& steps, size_t at) {
  constexpr Elementwise add = Elementwise::add, mul = Elementwise::mul;
  constexpr size_t least = 7;
  const Step& bias = steps[at];
  const Compute type = bias.instruction->type;
  if (at + least > steps.size() || !norm_products_operator(type) ||
      !adds_total(bias, elementwise_operator(add, type))) {
    return {};
  }
  NormGradient g{};
  g.weighted = at + 1;
  g.bias_total = bias.in[0];
  g.dy = bias.in[1];
  const Step& weighted = steps[g.weighted];
  if (g.dy.repeated || bias.out != g.bias_total.place || !is_product(weighted, g.dy) ||
      weighted.in[1].repeated || weighted.out < 0 || weighted.out == g.dy.place) {
    return {};
  }
  g.weight = weighted.in[1];
  // deviations * scale * dy, added up in the same step or in the next one.
  const Step *normal = &steps[at + 2], *total = normal;
  if (normal->is_pair && normal->operate == paired_operator(mul, mul, false, type)) {
    total = &steps[at + 3];
    if (!adds_total(*total, elementwise_operator(add, type)) || normal->out < 0 ||
        total->in[1].place != normal->out || is_read_later(steps, at + 3, normal->out)) {
      return {};
    }
    g.weight_total = total->in[0];
    g.scaled = at + 4;
  } else if (adds_total(*normal, scaled_sum_operator(type))) {
    g.weight_total = normal->in[3];
    g.scaled = at + 3;
  } else {
    return {};
  }
  g.deviations = normal->in[0];
  g.scale = normal->in[1];
  if (g.deviations.repeated || !g.scale.repeated || normal->in[2].place != g.dy.place ||
      normal->in_pieces() || total->out != g.weight_total.place) {
    return {};
  }
  g.products = g.scaled + 1;
  if (g.products + 2 > steps.size()) return {};
  const Step &scaled = steps[g.scaled], &products = steps[g.products];
  if (!is_product(scaled, {.place = weighted.out}) || scaled.out < 0 ||
      scaled.in[1].place != g.scale.place || !reduces_rows(products, row_sum_of_products(type)) ||
      products.in[0].place != weighted.out || products.in[1].place != g.deviations.place ||
      is_read_later(steps, g.products, weighted.out)) {
    return {};
  }
  g.slopes = g.products + 1;
  while (g.slopes < steps.size() && steps[g.slopes].traversal == Traversal::row_values) ++g.slopes;
  g.end = g.slopes + 2;
  if (g.end > steps.size()) return {};
  const Step &slopes = steps[g.slopes], &sum = steps[g.slopes + 1];
  if (slopes.operate != scaled_sum_operator(type) ||
      slopes.instruction->code != Opcode::elementwise || slopes.instruction->row ||
      slopes.in_pieces() || !slopes.in[0].repeated || slopes.in[1].place != g.deviations.place ||
      !slopes.in[2].repeated || slopes.in[3].place != scaled.out ||
      is_read_later(steps, g.slopes, scaled.out) ||
      !reduces_rows(sum, row_reduction(Reduction::sum, type)) || sum.in[0].place != slopes.out) {
    return {};
  }
  // What the second step reads must still be there, also while it writes its sums.
  for (size_t k = g.products; k < g.end; ++k) {
    for (const Source& read : {g.dy, g.weight, g.scale, g.deviations}) {
      if (k != g.slopes && steps[k].out == read.place) return {};
    }
  }
  return g;
}

// A step that runs a kernel of normalize_gradient.h over rows, with what both kernels read.
Step over_rows(const NormGradient& g, const Step& instead_of, Operator kernel, int operands) {
  Step step = instead_of;
  step.traversal = Traversal::rows;
  step.operate = nullptr;
  step.operate_all = kernel;
  step.is_pair = false;
  std::fill(step.in, step.in + 4, Source{});
  step.all.resize(static_cast<size_t>(operands));
  step.all[norm_operands::dy] = g.dy;
  step.all[norm_operands::deviations] = g.deviations;
  step.all[norm_operands::weight] = g.weight;
  step.all[norm_operands::scale] = g.scale;
  return step;
}
Step first_of(const NormGradient& g, const Step& products) {
  using namespace norm_products;
  const Operator kernel = norm_products_operator(products.instruction->type);
  Step step = over_rows(g, products, kernel, count);
  step.all[weight_total] = {.place = g.weight_total.place};  // one for all rows
  step.all[bias_total] = {.place = g.bias_total.place};
  return step;
}
Step second_of(const NormGradient& g, const Step& slopes, const Step& total) {
  using namespace norm_slopes;
  const Operator kernel = norm_slopes_operator(slopes.instruction->type);
  Step step = over_rows(g, slopes, kernel, count);
  step.all[factor] = slopes.in[0];
  step.all[number] = slopes.in[2];
  step.all[sum] = {total.out, true};
  return step;
}

}  // namespace

void join_norm_gradients(std::vector<Step>* steps) {
  for (size_t at = 0; at < steps->size(); ++at) {
    const std::optional<NormGradient> g = find_gradient(*steps, at);
    if (!g) continue;
    std::vector<Step> joined(steps->begin(), steps->begin() + static_cast<ptrdiff_t>(at));
    joined.push_back(first_of(*g, (*steps)[g->products]));
    for (size_t k = g->products + 1; k < g->slopes; ++k) joined.push_back((*steps)[k]);
    joined.push_back(second_of(*g, (*steps)[g->slopes], (*steps)[g->slopes + 1]));
    at = joined.size() - 1;
    for (size_t k = g->end; k < steps->size(); ++k) joined.push_back((*steps)[k]);
    *steps = std::move(joined);
  }
}

}  // namespace mt::cpu
