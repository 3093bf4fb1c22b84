// SPDX-License-Identifier: Apache-2.0
// The equation of an Einstein sum, by NumPy's grammar.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "graph/node.h"

namespace mt {

// A label is a letter's number, or `letter_count` + i for the i-th broadcast axis from the right.
constexpr int letter_count = 52, label_count = letter_count + max_rank;
using Labels = std::vector<int>;

inline bool contains(const Labels& labels, int label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}
// For a message.
std::string label_name(int label);

class EinsumEquation {
 public:
  explicit EinsumEquation(const char* text);

  size_t operand_count() const { return inputs_.size(); }
  // The labels of operand i, one for each of its axes.
  Labels labels(size_t i, const Tensor& operand);
  // After all operands' labels are known.
  Labels output() const;
  const char* text() const { return text_; }

 private:
  [[noreturn]] void invalid(const std::string& what) const;
  [[noreturn]] void fault(size_t at, const std::string& what) const;

  const char* text_;
  std::vector<std::string> inputs_;
  std::string result_;
  bool explicit_ = false;
  int broadcast_rank_ = 0;
};

}  // namespace mt
