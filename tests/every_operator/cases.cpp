// SPDX-License-Identifier: Apache-2.0
#include "every_operator/cases.h"

#include <cmath>
#include <cstring>
#include <map>

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
                   Function function) {
    bool differentiable = result == same && !is_flat(gradient);
    all->push_back({name,
                    "",
                    {operand(name, domain, {3, 5})},
                    function,
                    Json::array({"$0"}),
                    differentiable ? 2 : 0});
  };
  auto binary = [&](const char* name, Domain domain, int result, const char* gradient,
                    Function function) {
    bool differentiable = result == same && !is_flat(gradient) &&
                          std::strcmp(name, "copysign") != 0 && std::strcmp(name, "nextafter") != 0;
    all->push_back({name,
                    "broadcast",
                    {operand(name, domain, {3, 1, 4}), operand(name, domain, {5, 1})},
                    function,
                    Json::array({"$0", "$1"}),
                    differentiable ? 2 : 0});
    all->back().narrow = std::strcmp(name, "nextafter") != 0;
  };
#define SLOPE(name, domain, result, value, gradient)
#define UNARY(name, domain, result, value, gradient) \
  unary(#name, Domain::domain, result, #gradient, from_arguments<mt_##name>);
#define BINARY(name, domain, result, value, gradient_a, gradient_b) \
  binary(#name, Domain::domain, result, #gradient_a, from_arguments<mt_##name>);
#include "ops/elementwise.def"
#undef UNARY
#undef BINARY
}

const Input positive = {{4, 5}, 0.3, 2};

void add_choice(std::vector<Case>* all) {
  all->insert(
      all->end(),
      {
          {"where",
           "",
           {{{4, 1}, 0, 1, Kind::boolean}, {{4, 5}}, {{5}}},
           CALL(where, R"(["$0", "$1", "$2"])")},
          {"clip", "", {{{4, 5}, -1, 1}}, CALL(clip, R"(["$0", {"number": -2}, {"number": 2}])")},
          {"expression",
           "",
           {matrix, {{5}}},
           CALL(expression, R"(["tanh(a * b) + 2 * a", ["$0", "$1"]])")},
      });
}

void add_reductions(std::vector<Case>* all) {
#define REDUCTION(name, input, order)                                            \
  {#name, "all", {input}, CALL(name, R"(["$0", []])"), order},                   \
      {#name, "last", {input}, CALL(name, R"(["$0", [-1]])"), order},            \
      {#name, "first", {input}, CALL(name, R"(["$0", [0]])"), order}, {          \
#name "_keep", "last", {input }, CALL(name##_keep, R"(["$0", [-1]])"), order \
  }
#define STATISTIC(name, input, extra)                                               \
  {#name, "all", {input}, CALL(name, "[\"$0\", [], " extra "]")},                   \
      {#name, "first", {input}, CALL(name, "[\"$0\", [0], " extra "]")}, {          \
#name "_keep", "last", {input }, CALL(name##_keep, "[\"$0\", [-1], " extra "]") \
  }
  const Input mask = {{4, 5}, 0, 1, Kind::boolean};
  all->insert(
      all->end(),
      {
          REDUCTION(sum, cube, 2),
          REDUCTION(mean, cube, 2),
          REDUCTION(prod, positive, 2),
          REDUCTION(max, matrix, 1),
          REDUCTION(min, matrix, 1),
          REDUCTION(logsumexp, cube, 2),
          STATISTIC(var, cube, "1"),
          STATISTIC(std, cube, "0"),
          STATISTIC(norm, cube, "2"),
          {"sum", "middle", {cube}, CALL(sum, R"(["$0", [1]])")},
          {"sum", "outer two", {cube}, CALL(sum, R"(["$0", [0, 2]])")},
          {"sum",
           "product of broadcasts",
           {{{4, 1, 5}}, {{3, 5}}},
           CALL(sum, R"([{"call": "mul", "arguments": ["$0", "$1"]}, [-1]])")},
          {"argmax", "", {matrix}, CALL(argmax, R"(["$0", [-1]])"), 0},
          {"argmax_keep", "", {matrix}, CALL(argmax_keep, R"(["$0", [0]])"), 0},
          {"argmin", "", {matrix}, CALL(argmin, R"(["$0", []])"), 0},
          {"argmin_keep", "", {matrix}, CALL(argmin_keep, R"(["$0", [0]])"), 0},
          {"any", "", {mask}, CALL(any, R"(["$0", [1]])"), 0},
          {"any_keep", "", {mask}, CALL(any_keep, R"(["$0", [0]])"), 0},
          {"all", "", {mask}, CALL(all, R"(["$0", [1]])"), 0},
          {"all_keep", "", {mask}, CALL(all_keep, R"(["$0", [0]])"), 0},
          {"cumulative_sum", "", {cube}, CALL(cumulative_sum, R"(["$0", 1])")},
          {"cumulative_prod", "", {cube}, CALL(cumulative_prod, R"(["$0", 1])")},
          {"cumulative_prod",
           "with zeros",
           {{{3, 4}, -1, 1, Kind::integer}, {{3, 4}}},
           CALL(cumulative_prod, R"([{"call": "mul", "arguments": ["$0", "$1"]}, 1])")},
          // What they give depends on values, so they are not traced.
          {"nonzero", "", {mask}, CALL(nonzero, R"(["$0"])"), 0, 2e-6, false},
          {"unique_values",
           "",
           {{{4, 5}, 0, 7, Kind::integer}},
           CALL(unique_values, R"(["$0"])"),
           0,
           2e-6,
           false},
          {"count_nonzero",
           "",
           {{{4, 5}, 0, 2, Kind::integer}},
           CALL(count_nonzero, R"(["$0", [1]])"),
           0},
          {"count_nonzero_keep",
           "",
           {{{4, 5}, 0, 2, Kind::integer}},
           CALL(count_nonzero_keep, R"(["$0", [0]])"),
           0},
          {"diff", "", {cube}, CALL(diff, R"(["$0", 1, 2])")},
          {"searchsorted",
           "left",
           {{{7}}, matrix},
           CALL(searchsorted, R"([{"call": "sort", "arguments": ["$0", 0, false]}, "$1", false])"),
           0},
          {"searchsorted",
           "right, integers",
           {{{7}, 0, 4, Kind::integer}, {{4, 5}, 0, 4, Kind::integer}},
           CALL(searchsorted, R"([{"call": "sort", "arguments": ["$0", 0, false]}, "$1", true])"),
           0},
          {"sort", "", {matrix}, CALL(sort, R"(["$0", -1, false])")},
          {"argsort", "", {matrix}, CALL(argsort, R"(["$0", 0, true])"), 0},
      });
#undef REDUCTION
#undef STATISTIC
}

void add_views(std::vector<Case>* all) {
  const Input rows = {{3}, 0, 3, Kind::integer}, chosen = {{4, 2}, 0, 4, Kind::integer};
  all->insert(
      all->end(),
      {
          {"matrix_transpose", "", {cube}, CALL(matrix_transpose, R"(["$0"])")},
          {"reshape", "", {cube}, CALL(reshape, R"(["$0", [4, -1]])")},
          {"reshape",
           "of a transpose",
           {cube},
           CALL(reshape, R"([{"call": "matrix_transpose", "arguments": ["$0"]}, [-1]])")},
          {"permute_dims", "", {cube}, CALL(permute_dims, R"(["$0", [2, 0, 1]])")},
          {"transpose", "", {cube}, CALL(transpose, R"(["$0", 0, 1])")},
          {"broadcast_to", "", {{{4, 1}}}, CALL(broadcast_to, R"(["$0", [3, 4, 5]])")},
          {"expand_dims", "", {matrix}, CALL(expand_dims, R"(["$0", 1])")},
          {"squeeze", "", {{{4, 1, 5}}}, CALL(squeeze, R"(["$0", [1]])")},
          {"flip", "", {cube}, CALL(flip, R"(["$0", [0, 2]])")},
          {"window", "", {{{3, 9}}}, CALL(window, R"(["$0", 1, 3, 2, 2])")},
          {"index",
           "slices",
           {cube},
           CALL(index, R"(["$0", [{"at": -1}, "new_axis", {"range": [0, 3, 2]}, "ellipsis"]])")},
          {"index",
           "by integers",
           {matrix, rows},
           CALL(index, R"(["$0", [{"by": "$1"}, {"range": [null, null, -1]}]])")},
          {"select", "", {cube}, CALL(select, R"(["$0", 1, -2])")},
          {"slice", "", {cube}, CALL(slice, R"(["$0", 2, 3, null, -2])")},
          {"index_select", "", {matrix, rows}, CALL(index_select, R"(["$0", "$1", 0])")},
          {"take_along_axis", "", {matrix, chosen}, CALL(take_along_axis, R"(["$0", "$1", 1])")},
          {"scatter_add",
           "",
           {matrix, chosen, {{4, 2}}},
           CALL(scatter_add, R"(["$0", "$1", "$2", 1])")},
          {"masked_select",
           "",
           {matrix, {{4, 5}, 0, 1, Kind::boolean}},
           CALL(masked_select, R"(["$0", "$1"])"),
           2,
           2e-6,
           false},
          {"concat", "", {matrix, {{2, 5}}}, CALL(concat, R"([["$0", "$1"], 0])")},
          {"stack", "", {matrix, matrix}, CALL(stack, R"([["$0", "$1"], 1])")},
          {"pad", "", {matrix}, CALL(pad, R"(["$0", [1, 0], [2, 3], 0.5])")},
          {"pad_reflect", "", {matrix}, CALL(pad_reflect, R"(["$0", [1, 0], [2, 3]])")},
          {"pad_edge", "", {matrix}, CALL(pad_edge, R"(["$0", [1, 0], [2, 5]])")},
          {"pad_wrap", "", {matrix}, CALL(pad_wrap, R"(["$0", [1, 0], [2, 3]])")},
          {"roll", "", {cube}, CALL(roll, R"(["$0", [-1, 5], [1, -1]])")},
          {"tile", "", {{{2, 1, 3}}}, CALL(tile, R"(["$0", [2, 1, 3, 2]])")},
          {"repeat", "", {cube}, CALL(repeat, R"(["$0", 3, 1])")},
          {"repeat_by",
           "",
           {cube, {{3}, 0, 2, Kind::integer}},
           CALL(repeat_by, R"(["$0", "$1", 1])"),
           2,
           2e-6,
           false},
          {"tril", "", {cube}, CALL(tril, R"(["$0", 0])")},
          {"triu", "", {cube}, CALL(triu, R"(["$0", 1])")},
          {"astype", "", {matrix}, CALL(astype, R"(["$0", {"dtype_of": "$0"}])")},
          {"copy",
           "",
           {cube},
           CALL(copy, R"([{"call": "matrix_transpose", "arguments": ["$0"]}])")},
      });
}

double uniform(uint64_t* state) {  // SplitMix64
  uint64_t z = *state += 0x9E3779B97F4A7C15u;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return static_cast<double>((z ^ z >> 31) >> 11) * 0x1p-53;
}

}  // namespace

std::vector<mt_tensor*> Case::make_inputs(mt_dtype floating, const char* device) const {
  std::vector<mt_tensor*> result;
  uint64_t state = 2166136261;  // from the name by FNV-1a, so the same everywhere
  for (char c : name + variant) state = (state ^ static_cast<unsigned char>(c)) * 16777619;
  for (const Input& input : inputs) {
    size_t count = 1;
    for (int64_t size : input.dims) count *= static_cast<size_t>(size);
    std::vector<double> values(count);
    for (double& value : values) {
      value = input.low + (input.high - input.low) * uniform(&state);
      if (input.kind == Kind::integer) value = std::floor(value);
      if (input.kind == Kind::boolean) value = value > 0.5;
    }
    mt_tensor* made =
        mt_from_data(values.data(), input.dims.data(), input.dims.size(), MT_F64, device);
    result.push_back(mt_astype(made, input.kind == Kind::floating  ? floating
                                     : input.kind == Kind::integer ? MT_I64
                                                                   : MT_BOOL));
  }
  return result;
}

const std::vector<Case>& cases() {
  static const auto* all = [] {
    auto* list = new std::vector<Case>;
    add_elementwise(list);
    add_choice(list);
    add_reductions(list);
    add_views(list);
    add_linear(list);
    add_linalg(list);
    add_nn(list);
    add_parts(list);
    add_creation(list);
    return list;
  }();
  return *all;
}

Function find_function(const std::string& name) {
  for (const auto* list : {&cases(), &vectors_alone()}) {
    for (const Case& one : *list) {
      if (one.name == name) return one.function;
    }
  }
  throw std::out_of_range("no case calls " + name);
}

}  // namespace every_operator
