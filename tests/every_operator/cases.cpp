// SPDX-License-Identifier: Apache-2.0
#include "every_operator/cases.h"

#include <cstring>
#include <map>

#define CALL(...) [](mt_tensor* const* in) -> mt_tensor* { return __VA_ARGS__; }

namespace every_operator {
namespace {

// Where an element-wise operator is to be sampled, when [-2, 2] will not do: outside its domain, or
// where its slope jumps.
struct Range {
  double low, high;
};
const std::map<std::string, Range> ranges = {
    {"abs", {0.2, 2}},        {"sign", {0.2, 2}},         {"reciprocal", {0.5, 2}},
    {"sqrt", {0.3, 3}},       {"rsqrt", {0.3, 3}},        {"log", {0.3, 3}},
    {"log1p", {-0.6, 2}},     {"log2", {0.3, 3}},         {"log10", {0.3, 3}},
    {"tan", {-1.2, 1.2}},     {"asin", {-0.8, 0.8}},      {"acos", {-0.8, 0.8}},
    {"acosh", {1.3, 3}},      {"atanh", {-0.8, 0.8}},     {"relu", {0.1, 2}},
    {"leaky_relu", {0.1, 2}}, {"elu", {0.1, 2}},          {"div", {0.5, 2}},
    {"pow", {0.5, 2}},        {"floor_divide", {0.6, 5}}, {"remainder", {0.6, 5}},
    {"atan2", {0.4, 2}},      {"hypot", {0.4, 2}},        {"copysign", {0.3, 2}},
    {"floor", {0.1, 0.9}},    {"ceil", {0.1, 0.9}},       {"trunc", {0.1, 0.9}},
    {"round", {0.1, 0.4}},
};

enum class Domain { number, real, integer, bits, boolean, any };

// Steps have a slope of zero, which differences confirm only away from the steps.
bool is_flat(const char* gradient) { return std::strcmp(gradient, "NONE") == 0; }

Input operand(const std::string& name, Domain domain, std::vector<int64_t> dims) {
  if (domain == Domain::integer || domain == Domain::bits) return {dims, 1, 6, Kind::integer};
  if (domain == Domain::boolean) return {dims, 0, 1, Kind::boolean};
  auto found = ranges.find(name);
  return found == ranges.end() ? Input{dims} : Input{dims, found->second.low, found->second.high};
}

void add_elementwise(std::vector<Case>* all) {
  enum { same, boolean };
  auto unary = [&](const char* name, Domain domain, int result, const char* gradient,
                   mt_tensor* (*call)(mt_tensor* const*)) {
    bool differentiable = result == same && !is_flat(gradient);
    all->push_back({name, "", {operand(name, domain, {3, 5})}, call, differentiable ? 2 : 0, 2e-6});
  };
  auto binary = [&](const char* name, Domain domain, int result, const char* gradient,
                    mt_tensor* (*call)(mt_tensor* const*)) {
    bool differentiable = result == same && !is_flat(gradient) &&
                          std::strcmp(name, "copysign") != 0 && std::strcmp(name, "nextafter") != 0;
    all->push_back({name,
                    "broadcast",
                    {operand(name, domain, {3, 1, 4}), operand(name, domain, {5, 1})},
                    call,
                    differentiable ? 2 : 0,
                    2e-6});
  };
#define UNARY(name, domain, result, value, gradient) \
  unary(#name, Domain::domain, result, #gradient, CALL(mt_##name(in[0])));
#define BINARY(name, domain, result, value, gradient_a, gradient_b) \
  binary(#name, Domain::domain, result, #gradient_a, CALL(mt_##name(in[0], in[1])));
#include "ops/elementwise.def"
#undef UNARY
#undef BINARY
}

#define AXES(...) MT_DIMS(__VA_ARGS__)

const Input matrix = {{4, 5}}, cube = {{2, 3, 4}}, positive = {{4, 5}, 0.3, 2};

void add_choice(std::vector<Case>* all) {
  all->insert(
      all->end(),
      {
          {"where",
           "",
           {{{4, 1}, 0, 1, Kind::boolean}, {{4, 5}}, {{5}}},
           CALL(mt_where(in[0], in[1], in[2]))},
          {"clip", "", {{{4, 5}, -1, 1}}, CALL(mt_clip(in[0], mt_number(-2), mt_number(2)))},
          {"expression", "", {matrix, {{5}}}, CALL(mt_expression("tanh(a * b) + 2 * a", in, 2))},
      });
}

void add_reductions(std::vector<Case>* all) {
#define REDUCTION(name, input, order)                                    \
  {#name, "all", {input}, CALL(mt_##name(in[0], nullptr, 0)), order},    \
      {#name, "last", {input}, CALL(mt_##name(in[0], AXES(-1))), order}, \
      {#name, "first", {input}, CALL(mt_##name(in[0], AXES(0))), order}, \
      {#name "_keep", "last", {input}, CALL(mt_##name##_keep(in[0], AXES(-1))), order}
#define STATISTIC(name, input, extra)                                               \
  {#name, "all", {input}, CALL(mt_##name(in[0], nullptr, 0, extra))},               \
      {#name, "first", {input}, CALL(mt_##name(in[0], AXES(0), extra))}, {          \
#name "_keep", "last", {input }, CALL(mt_##name##_keep(in[0], AXES(-1), extra)) \
  }
  all->insert(
      all->end(),
      {
          REDUCTION(sum, cube, 2),
          REDUCTION(mean, cube, 2),
          REDUCTION(prod, positive, 2),
          REDUCTION(max, matrix, 1),
          REDUCTION(min, matrix, 1),
          REDUCTION(logsumexp, cube, 2),
          STATISTIC(var, cube, 1),
          STATISTIC(std, cube, 0),
          STATISTIC(norm, cube, 2),
          {"sum", "middle", {cube}, CALL(mt_sum(in[0], AXES(1)))},
          {"sum", "outer two", {cube}, CALL(mt_sum(in[0], AXES(0, 2)))},
          {"sum",
           "product of broadcasts",
           {{{4, 1, 5}}, {{3, 5}}},
           CALL(mt_sum(mt_mul(in[0], in[1]), AXES(-1)))},
          {"argmax", "", {matrix}, CALL(mt_argmax(in[0], AXES(-1))), 0},
          {"argmax_keep", "", {matrix}, CALL(mt_argmax_keep(in[0], AXES(0))), 0},
          {"argmin", "", {matrix}, CALL(mt_argmin(in[0], nullptr, 0)), 0},
          {"argmin_keep", "", {matrix}, CALL(mt_argmin_keep(in[0], AXES(0))), 0},
          {"any", "", {{{4, 5}, 0, 1, Kind::boolean}}, CALL(mt_any(in[0], AXES(1))), 0},
          {"any_keep", "", {{{4, 5}, 0, 1, Kind::boolean}}, CALL(mt_any_keep(in[0], AXES(0))), 0},
          {"all", "", {{{4, 5}, 0, 1, Kind::boolean}}, CALL(mt_all(in[0], AXES(1))), 0},
          {"all_keep", "", {{{4, 5}, 0, 1, Kind::boolean}}, CALL(mt_all_keep(in[0], AXES(0))), 0},
          {"cumulative_sum", "", {cube}, CALL(mt_cumulative_sum(in[0], 1))},
          {"sort", "", {matrix}, CALL(mt_sort(in[0], -1, false))},
          {"argsort", "", {matrix}, CALL(mt_argsort(in[0], 0, true)), 0},
      });
#undef REDUCTION
#undef STATISTIC
}

void add_views(std::vector<Case>* all) {
  const Input rows = {{3}, 0, 3, Kind::integer}, chosen = {{4, 2}, 0, 4, Kind::integer};
  all->insert(
      all->end(),
      {
          {"reshape", "", {cube}, CALL(mt_reshape(in[0], MT_DIMS(4, -1)))},
          {"reshape",
           "of a transpose",
           {cube},
           CALL(mt_reshape(mt_matrix_transpose(in[0]), MT_DIMS(-1)))},
          {"permute_dims", "", {cube}, CALL(mt_permute_dims(in[0], AXES(2, 0, 1)))},
          {"transpose", "", {cube}, CALL(mt_transpose(in[0], 0, 1))},
          {"matrix_transpose", "", {cube}, CALL(mt_matrix_transpose(in[0]))},
          {"broadcast_to", "", {{{4, 1}}}, CALL(mt_broadcast_to(in[0], MT_DIMS(3, 4, 5)))},
          {"expand_dims", "", {matrix}, CALL(mt_expand_dims(in[0], 1))},
          {"squeeze", "", {{{4, 1, 5}}}, CALL(mt_squeeze(in[0], AXES(1)))},
          {"flip", "", {cube}, CALL(mt_flip(in[0], AXES(0, 2)))},
          {"window", "", {{{3, 9}}}, CALL(mt_window(in[0], 1, 3, 2, 2))},
          {"index",
           "slices",
           {cube},
           CALL(mt_index(in[0], MT_INDEX(MT_AT(-1), MT_NEW_AXIS, MT_RANGE(0, 3, 2), MT_ELLIPSIS)))},
          {"index",
           "by integers",
           {matrix, rows},
           CALL(mt_index(in[0], MT_INDEX(MT_BY(in[1]), MT_RANGE(MT_OPEN, MT_OPEN, -1))))},
          {"select", "", {cube}, CALL(mt_select(in[0], 1, -2))},
          {"slice", "", {cube}, CALL(mt_slice(in[0], 2, 3, MT_OPEN, -2))},
          {"index_select", "", {matrix, rows}, CALL(mt_index_select(in[0], in[1], 0))},
          {"take_along_axis", "", {matrix, chosen}, CALL(mt_take_along_axis(in[0], in[1], 1))},
          {"scatter_add",
           "",
           {matrix, chosen, {{4, 2}}},
           CALL(mt_scatter_add(in[0], in[1], in[2], 1))},
          {"masked_select",
           "",
           {matrix, {{4, 5}, 0, 1, Kind::boolean}},
           CALL(mt_masked_select(in[0], in[1])),
           2,
           2e-6,
           false},
          {"concat", "", {matrix, {{2, 5}}}, CALL(mt_concat(in, 2, 0))},
          {"stack", "", {matrix, matrix}, CALL(mt_stack(in, 2, 1))},
          {"pad", "", {matrix}, CALL([&] {
             int64_t before[] = {1, 0}, after[] = {2, 3};
             return mt_pad(in[0], before, after, 2, 0.5);
           }())},
          {"tril", "", {cube}, CALL(mt_tril(in[0], 0))},
          {"triu", "", {cube}, CALL(mt_triu(in[0], 1))},
          {"astype", "", {matrix}, CALL(mt_astype(in[0], mt_dtype_of(in[0])))},
          {"copy", "", {matrix}, CALL(mt_copy(mt_matrix_transpose(in[0])))},
      });
}

void add_linear(std::vector<Case>* all) {
  static const mt_conv_options strided = [] {
    mt_conv_options options = MT_CONV_OPTIONS_INIT;
    options.stride[0] = options.stride[1] = 2;
    options.padding[0] = options.padding[1] = 1;
    return options;
  }();
  const double bound = 4e-6;
  all->insert(
      all->end(),
      {
          {"matmul", "", {matrix, {{5, 3}}}, CALL(mt_matmul(in[0], in[1])), 2, bound},
          {"matmul",
           "batches broadcast",
           {{{2, 1, 3, 4}}, {{5, 4, 2}}},
           CALL(mt_matmul(in[0], in[1])),
           2,
           bound},
          {"matmul", "vectors", {{{5}}, {{5}}}, CALL(mt_matmul(in[0], in[1])), 2, bound},
          {"linear", "", {matrix, {{3, 5}}, {{3}}}, CALL(mt_linear(in[0], in[1], in[2])), 2, bound},
          {"einsum",
           "three operands",
           {{{3, 4}}, {{4, 5}}, {{5, 2}}},
           CALL(mt_einsum("ij,jk,kl->il", in, 3)),
           2,
           bound},
          {"einsum", "diagonal", {{{4, 4}}}, CALL(mt_einsum("ii->i", in, 1)), 2, bound},
          {"conv1d",
           "",
           {{{2, 3, 8}}, {{4, 3, 3}}, {{4}}},
           CALL(mt_conv1d(in[0], in[1], in[2], nullptr)),
           2,
           bound},
          {"conv2d",
           "",
           {{{2, 2, 6, 5}}, {{3, 2, 3, 3}}, {{3}}},
           CALL(mt_conv2d(in[0], in[1], in[2], nullptr)),
           2,
           bound},
          {"conv2d",
           "strided",
           {{{1, 2, 7, 6}}, {{3, 2, 3, 3}}},
           CALL(mt_conv2d(in[0], in[1], nullptr, &strided)),
           2,
           bound},
          {"conv_transpose1d",
           "",
           {{{2, 3, 5}}, {{3, 4, 3}}, {{4}}},
           CALL(mt_conv_transpose1d(in[0], in[1], in[2], nullptr)),
           2,
           bound},
          {"conv_transpose2d",
           "",
           {{{1, 2, 4, 3}}, {{2, 3, 3, 3}}, {{3}}},
           CALL(mt_conv_transpose2d(in[0], in[1], in[2], &strided)),
           2,
           bound},
          {"max_pool1d", "", {{{2, 3, 8}}}, CALL(mt_max_pool1d(in[0], 2, nullptr)), 1},
          {"max_pool2d", "", {{{2, 2, 6, 4}}}, CALL(mt_max_pool2d(in[0], 2, 2, nullptr)), 1},
          {"avg_pool1d", "", {{{2, 3, 8}}}, CALL(mt_avg_pool1d(in[0], 2, nullptr))},
          {"avg_pool2d", "", {{{2, 2, 6, 4}}}, CALL(mt_avg_pool2d(in[0], 3, 2, nullptr))},
      });
}

void add_nn(std::vector<Case>* all) {
  const Input classes = {{4}, 0, 5, Kind::integer};
  static const mt_attention_options causal = [] {
    mt_attention_options options = MT_ATTENTION_OPTIONS_INIT;
    options.causal = true;
    return options;
  }();
  static const mt_batch_norm_options training = [] {
    mt_batch_norm_options options = MT_BATCH_NORM_OPTIONS_INIT;
    options.training = true;
    return options;
  }();
  const double bound = 4e-6;
  all->insert(
      all->end(),
      {
          {"softmax", "", {matrix}, CALL(mt_softmax(in[0], -1)), 2, bound},
          {"softmax", "first axis", {matrix}, CALL(mt_softmax(in[0], 0)), 2, bound},
          {"log_softmax", "", {matrix}, CALL(mt_log_softmax(in[0], 1)), 2, bound},
          {"layer_norm",
           "",
           {matrix, {{5}}, {{5}}},
           CALL(mt_layer_norm(in[0], 1, in[1], in[2], 1e-3)),
           2,
           2e-5},
          {"rms_norm", "", {matrix, {{5}}}, CALL(mt_rms_norm(in[0], 1, in[1], 1e-3)), 2, bound},
          {"embedding",
           "",
           {{{2, 3}, 0, 4, Kind::integer}, {{4, 5}}},
           CALL(mt_embedding(in[0], in[1]))},
          {"scaled_dot_product_attention",
           "",
           {{{2, 3, 4}}, {{2, 5, 4}}, {{2, 5, 4}}},
           CALL(mt_scaled_dot_product_attention(in[0], in[1], in[2], nullptr, nullptr)),
           2,
           bound},
          {"scaled_dot_product_attention",
           "causal",
           {{{2, 4, 4}}, {{2, 4, 4}}, {{2, 4, 4}}},
           CALL(mt_scaled_dot_product_attention(in[0], in[1], in[2], nullptr, &causal)),
           2,
           bound},
          {"cross_entropy",
           "classes",
           {matrix, classes},
           CALL(mt_cross_entropy(in[0], in[1], 1, MT_REDUCTION_MEAN)),
           2,
           bound},
          {"mse_loss", "", {matrix, {{5}}}, CALL(mt_mse_loss(in[0], in[1], MT_REDUCTION_SUM))},
          {"bce_with_logits",
           "",
           {matrix, {{4, 5}, 0, 1}},
           CALL(mt_bce_with_logits(in[0], in[1], MT_REDUCTION_MEAN)),
           2,
           bound},
          {"dropout", "not training", {matrix}, CALL(mt_dropout(in[0], 0.5, false))},
          {"batch_norm",
           "",
           {{{6, 3}}, {{3}}, {{3}}},
           CALL(mt_batch_norm(in[0], in[1], in[2], nullptr, nullptr, &training)),
           2,
           2e-5},
      });
}

}  // namespace

std::vector<Case> cases() {
  std::vector<Case> all;
  add_elementwise(&all);
  add_choice(&all);
  add_reductions(&all);
  add_views(&all);
  add_linear(&all);
  add_nn(&all);
  return all;
}

}  // namespace every_operator
