// SPDX-License-Identifier: Apache-2.0
// Operators of several results, each of which is a case of its own.
#include "every_operator/cases.h"

namespace every_operator {
namespace {

// The results of one call in order; of those that are not differentiable the name ends in "*".
void add_parts(std::vector<Case>* all, const Case& one, const std::vector<std::string>& names) {
  for (size_t i = 0; i < names.size(); ++i) {
    Case part = one;
    std::string name = names[i];
    if (name.back() == '*') {
      name.pop_back();
      part.order = 0;
    }
    part.variant += (one.variant.empty() ? "" : " ") + name;
    part.part = static_cast<int>(i);
    all->push_back(part);
  }
}

}  // namespace

void add_parts(std::vector<Case>* all) {
  const double bound = 2e-5;
  const Input square = {{2, 3, 3}}, tall = {{4, 3}}, state = {{2, 3}};
  // Symmetric, whatever $0 is.
  const char* symmetric = R"([{"call": "add", "arguments": [
      "$0", {"call": "matrix_transpose", "arguments": ["$0"]}]}])";
  add_parts(all, {"split", "", {cube}, CALL(split, R"(["$0", [1, 0, 2], 1])")},
            {"first", "empty*", "last"});
  add_parts(all, {"topk", "", {matrix}, CALL(topk, R"(["$0", 2, -1, true])"), 1},
            {"values", "indices*"});
  add_parts(all, {"topk", "smallest", {matrix}, CALL(topk, R"(["$0", 3, 0, false])"), 1},
            {"values", "indices*"});
  add_parts(all,
            {"unique_all",
             "",
             {{{4, 5}, 0, 6, Kind::integer}},
             CALL(unique_all, R"(["$0"])"),
             0,
             0,
             false},
            {"values", "indices", "inverse", "counts"});
  add_parts(all, {"slogdet", "", {square}, CALL(slogdet, R"(["$0"])"), 2, bound},
            {"sign*", "logarithm"});
  add_parts(all, {"qr", "", {tall}, CALL(qr, R"(["$0", false])"), 1, bound}, {"q", "r"});
  add_parts(all, {"qr", "complete", {tall}, CALL(qr, R"(["$0", true])"), 0, bound}, {"q", "r"});
  add_parts(all, {"eigh", "", {square}, CALL(eigh, symmetric), 1, bound}, {"values", "vectors"});
  add_parts(all, {"svd", "", {tall}, CALL(svd, R"(["$0", false])"), 1, bound}, {"u", "s", "vh"});
  const double sums = 4e-6;
  add_parts(all,
            {"rnn",
             "",
             {{{2, 4, 2}}, state, {{3, 2}}, {{3, 3}}, {{3}}, {{3}}},
             CALL(rnn, R"(["$0", "$1", "$2", "$3", "$4", "$5"])"),
             1,
             sums},
            {"states", "last"});
  add_parts(all,
            {"gru",
             "",
             {{{2, 4, 2}}, {{9, 2}}, {{9, 3}}},
             CALL(gru, R"(["$0", null, "$1", "$2", null, null])"),
             1,
             sums},
            {"states", "last"});
  add_parts(all,
            {"lstm",
             "",
             {{{2, 4, 2}}, state, state, {{12, 2}}, {{12, 3}}, {{12}}, {{12}}},
             CALL(lstm, R"(["$0", "$1", "$2", "$3", "$4", "$5", "$6"])"),
             1,
             sums},
            {"states", "last", "cell"});
}

}  // namespace every_operator
