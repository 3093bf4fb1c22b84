// SPDX-License-Identifier: Apache-2.0
// Tensors out of numbers and of random draws. Those without an operand are vectors alone: what else
// every operator is tested for needs one.
#include "every_operator/cases.h"

namespace every_operator {

void add_creation(std::vector<Case>* all) {
  const Input classes = {{2, 3}, 0, 4, Kind::integer};
  all->insert(
      all->end(),
      {
          {"zeros_like", "", {matrix}, CALL(zeros_like, R"(["$0"])"), 0},
          {"ones_like", "", {matrix}, CALL(ones_like, R"(["$0"])"), 0},
          {"full_like", "", {matrix}, CALL(full_like, R"(["$0", 2.5])"), 0},
          {"one_hot", "", {classes}, CALL(one_hot, R"(["$0", 4, {"dtype": "float32"}])"), 0},
      });
}

// A draw, from a generator that has just been given its seed.
Case drawn(Case one) {
  one.order = 0;
  one.seed = 7;
  return one;
}

const std::vector<Case>& vectors_alone() {
#define ALONE(name, variant, arguments) \
  { #name, variant, {}, CALL(name, arguments), 0 }
  static const std::vector<Case> all = {
      ALONE(zeros, "", R"([[2, 3], {"dtype": "float32"}, null])"),
      ALONE(ones, "", R"([[2, 3], {"dtype": "int64"}, null])"),
      ALONE(ones, "no dimensions", R"([[], {"dtype": "float64"}, null])"),
      ALONE(full, "", R"([[4], 2.5, {"dtype": "float32"}, null])"),
      ALONE(full, "whole", R"([[2, 1], -3.0, {"dtype": "int8"}, null])"),
      ALONE(arange, "", R"([1.0, 3.0, 0.25, {"dtype": "float32"}, null])"),
      ALONE(arange, "down", R"([5.0, 0.0, -2.0, {"dtype": "int32"}, null])"),
      ALONE(linspace, "", R"([-1.0, 2.0, 7, {"dtype": "float64"}, null])"),
      ALONE(eye, "", R"([3, 4, 1, {"dtype": "float32"}, null])"),
      drawn(ALONE(uniform, "", R"([[3, 50], -1.0, 2.0, {"dtype": "float32"}, null])")),
      drawn(ALONE(uniform, "float64", R"([[50], 0.0, 1.0, {"dtype": "float64"}, null])")),
      drawn(ALONE(normal, "", R"([[150], 1.0, 2.0, {"dtype": "float32"}, null])")),
      drawn(ALONE(integers, "", R"([[150], -5, 17, {"dtype": "int64"}, null])")),
      drawn(ALONE(bernoulli, "", R"([[150], 0.3, {"dtype": "bool"}, null])")),
      drawn(ALONE(permutation, "", R"([50, null])")),
      drawn({"categorical", "", {}, CALL(categorical, R"([{"call": "linspace", "arguments": [-1.0,
        3.0, 150, {"dtype": "float32"}, null]}, 0])")}),
      drawn({"dropout", "in training", {}, CALL(dropout, R"([{"call": "ones", "arguments": [[9, 9],
        {"dtype": "float32"}, null]}, 0.4, true])")}),
  };
#undef ALONE
  return all;
}

}  // namespace every_operator
