// SPDX-License-Identifier: Apache-2.0
#include "every_operator/cases.h"

namespace every_operator {

void add_linear(std::vector<Case>* all) {
#define STRIDED R"({"stride": [2, 2], "padding": [1, 1]})"
  const double bound = 4e-6;
  all->insert(
      all->end(),
      {
          {"matmul", "", {matrix, {{5, 3}}}, CALL(matmul, R"(["$0", "$1"])"), 2, bound},
          {"matmul",
           "batches broadcast",
           {{{2, 1, 3, 4}}, {{5, 4, 2}}},
           CALL(matmul, R"(["$0", "$1"])"),
           2,
           bound},
          {"matmul", "vectors", {{{5}}, {{5}}}, CALL(matmul, R"(["$0", "$1"])"), 2, bound},
          {"linear",
           "",
           {matrix, {{3, 5}}, {{3}}},
           CALL(linear, R"(["$0", "$1", "$2"])"),
           2,
           bound},
          {"einsum",
           "three operands",
           {{{3, 4}}, {{4, 5}}, {{5, 2}}},
           CALL(einsum, R"(["ij,jk,kl->il", ["$0", "$1", "$2"]])"),
           2,
           bound},
          {"einsum", "diagonal", {{{4, 4}}}, CALL(einsum, R"(["ii->i", ["$0"]])"), 2, bound},
          {"tensordot",
           "",
           {cube, {{4, 5, 2}}},
           CALL(tensordot, R"(["$0", "$1", [0, -1], [2, 0]])"),
           2,
           bound},
          {"outer", "", {{{4}}, {{5}}}, CALL(outer, R"(["$0", "$1"])")},
          {"vecdot", "", {cube, {{3, 4}}}, CALL(vecdot, R"(["$0", "$1", -1])"), 2, bound},
          {"cross", "", {{{4, 3, 5}}, {{3, 1}}}, CALL(cross, R"(["$0", "$1", -2])"), 2, bound},
          {"matrix_diagonal", "", {{{2, 4, 5}}}, CALL(matrix_diagonal, R"(["$0", 1])")},
          {"matrix_diagonal", "below", {{{4, 3}}}, CALL(matrix_diagonal, R"(["$0", -2])")},
          {"matrix_trace", "", {{{2, 4, 5}}}, CALL(matrix_trace, R"(["$0", -1])"), 2, bound},
          {"conv1d",
           "",
           {{{2, 3, 8}}, {{4, 3, 3}}, {{4}}},
           CALL(conv1d, R"(["$0", "$1", "$2", null])"),
           2,
           bound},
          {"conv2d",
           "",
           {{{2, 2, 6, 5}}, {{3, 2, 3, 3}}, {{3}}},
           CALL(conv2d, R"(["$0", "$1", "$2", null])"),
           2,
           bound},
          {"conv2d",
           "strided",
           {{{1, 2, 7, 6}}, {{3, 2, 3, 3}}},
           CALL(conv2d, R"(["$0", "$1", null, )" STRIDED "]"),
           2,
           bound},
          {"conv_transpose1d",
           "",
           {{{2, 3, 5}}, {{3, 4, 3}}, {{4}}},
           CALL(conv_transpose1d, R"(["$0", "$1", "$2", null])"),
           2,
           bound},
          {"conv_transpose2d",
           "",
           {{{1, 2, 4, 3}}, {{2, 3, 3, 3}}, {{3}}},
           CALL(conv_transpose2d, R"(["$0", "$1", "$2", )" STRIDED "]"),
           2,
           bound},
          {"max_pool1d", "", {{{2, 3, 8}}}, CALL(max_pool1d, R"(["$0", 2, null])"), 1},
          {"max_pool2d", "", {{{2, 2, 6, 4}}}, CALL(max_pool2d, R"(["$0", 2, 2, null])"), 1},
          {"avg_pool1d", "", {{{2, 3, 8}}}, CALL(avg_pool1d, R"(["$0", 2, null])")},
          {"avg_pool2d", "", {{{2, 2, 6, 4}}}, CALL(avg_pool2d, R"(["$0", 3, 2, null])")},
      });
#undef STRIDED
}

void add_linalg(std::vector<Case>* all) {
// Symmetric, and positive definite for as many columns of $0 as rows or more.
#define GRAM \
  R"({"call": "matmul", "arguments": ["$0", {"call": "matrix_transpose", "arguments": ["$0"]}]})"
  const double bound = 2e-5;
  const Input square = {{2, 3, 3}}, triangle = {{2, 3, 3}, 0.5, 2}, wide = {{2, 3, 5}};
  all->insert(
      all->end(),
      {
          {"solve",
           "batches broadcast",
           {{{2, 1, 3, 3}}, {{2, 3, 2}}},
           CALL(solve, R"(["$0", "$1"])"),
           2,
           bound},
          {"solve", "vector", {{{4, 4}}, {{4}}}, CALL(solve, R"(["$0", "$1"])"), 2, bound},
          {"solve_triangular",
           "lower",
           {triangle, {{3, 2}}},
           CALL(solve_triangular, R"(["$0", "$1", false])"),
           2,
           bound},
          {"solve_triangular",
           "upper",
           {triangle, {{2, 3, 2}}},
           CALL(solve_triangular, R"(["$0", "$1", true])"),
           2,
           bound},
          {"inv", "", {square}, CALL(inv, R"(["$0"])"), 2, bound},
          {"pinv", "tall", {{{4, 2}}}, CALL(pinv, R"(["$0", null])"), 2, bound},
          {"pinv", "wide", {wide}, CALL(pinv, R"(["$0", null])"), 2, bound},
          {"det", "", {square}, CALL(det, R"(["$0"])"), 2, bound},
          {"cholesky", "", {wide}, CALL(cholesky, "[" GRAM ", false]"), 2, bound},
          {"cholesky", "upper", {{{4, 6}}}, CALL(cholesky, "[" GRAM ", true]"), 2, bound},
          {"eigvalsh", "", {wide}, CALL(eigvalsh, "[" GRAM "]"), 2, bound},
          {"svdvals", "", {wide}, CALL(svdvals, R"(["$0"])"), 2, bound},
          {"matrix_rank",
           "",
           {{{2, 5, 2}}},
           CALL(matrix_rank, "[" GRAM ", {\"number\": 1e-3}]"),
           0},
          {"matrix_norm", "fro", {wide}, CALL(matrix_norm, R"(["$0", "fro"])"), 2, bound},
          {"matrix_norm", "nuc", {wide}, CALL(matrix_norm, R"(["$0", "nuc"])"), 2, bound},
          {"matrix_norm", "2", {square}, CALL(matrix_norm, R"(["$0", "2"])"), 2, bound},
          {"matrix_norm_keep", "-2", {square}, CALL(matrix_norm_keep, R"(["$0", "-2"])"), 2, bound},
          {"matrix_norm_keep", "1", {wide}, CALL(matrix_norm_keep, R"(["$0", "1"])"), 1, bound},
          {"matrix_norm", "-inf", {wide}, CALL(matrix_norm, R"(["$0", "-inf"])"), 1, bound},
          {"matrix_power", "", {square}, CALL(matrix_power, R"(["$0", 5])"), 2, bound},
          {"matrix_power", "below 0", {square}, CALL(matrix_power, R"(["$0", -2])"), 2, bound},
      });
#undef GRAM
}

}  // namespace every_operator
