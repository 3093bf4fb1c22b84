// SPDX-License-Identifier: Apache-2.0
#include "ops/einsum_equation.h"

#include "base/error.h"

namespace mt {
namespace {

constexpr char broadcast_mark = '.';

// Letters sort as in ASCII: upper case first.
int label_of(char letter) { return letter <= 'Z' ? letter - 'A' : letter - 'a' + 26; }
char letter_of(int label) { return static_cast<char>(label < 26 ? 'A' + label : 'a' + label - 26); }

}  // namespace

std::string label_name(int label) {
  return label < letter_count ? std::string("'") + letter_of(label) + "'" : "of \"...\"";
}

EinsumEquation::EinsumEquation(const char* text) : text_(text) {
  if (!text) fail(Code::null, "einsum: the equation is NULL");
  bool output = false;
  std::string part;
  auto finish = [&] {
    (output ? result_ : inputs_.emplace_back()) = part;
    part.clear();
  };
  for (size_t at = 0; text[at]; ++at) {
    char c = text[at];
    if (c == ' ') continue;
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
      part += c;
    } else if (c == '.') {
      if (text[at + 1] != '.' || text[at + 2] != '.') fault(at, "expected \"...\"");
      if (part.find(broadcast_mark) != std::string::npos) fault(at, "a second \"...\"");
      part += broadcast_mark;
      at += 2;
    } else if (c == ',' && !output) {
      finish();
    } else if (c == '-' && text[at + 1] == '>' && !output) {
      finish();
      output = true;
      ++at;
    } else if (c == '-' || c == '>') {
      fault(at, output ? "a second \"->\"" : "expected \"->\"");
    } else {
      fault(at, std::string("unexpected '") + c + "'");
    }
  }
  finish();
  explicit_ = output;
}

Labels EinsumEquation::labels(size_t i, const Tensor& operand) {
  const std::string& part = inputs_[i];
  bool has_mark = part.find(broadcast_mark) != std::string::npos;
  int named = static_cast<int>(part.size()) - has_mark;
  int extra = operand.rank() - named;
  if (extra < 0 || (extra > 0 && !has_mark)) {
    fail(Code::shape, "einsum: \"%s\": operand %zu has %d labels, its tensor %s %d dimensions",
         text_, i, named, to_string(operand.shape()).c_str(), operand.rank());
  }
  Labels result;
  for (char c : part) {
    if (c != broadcast_mark) {
      result.push_back(label_of(c));
      continue;
    }
    for (int d = extra - 1; d >= 0; --d) result.push_back(letter_count + d);
  }
  broadcast_rank_ = std::max(broadcast_rank_, has_mark ? extra : 0);
  return result;
}

Labels EinsumEquation::output() const {
  Labels result;
  auto broadcast_axes = [&] {
    for (int d = broadcast_rank_ - 1; d >= 0; --d) result.push_back(letter_count + d);
  };
  if (!explicit_) {
    int count[letter_count] = {};
    for (const std::string& part : inputs_) {
      for (char c : part) count[c == broadcast_mark ? 0 : label_of(c)] += c != broadcast_mark;
    }
    broadcast_axes();
    for (int label = 0; label < letter_count; ++label) {
      if (count[label] == 1) result.push_back(label);
    }
    return result;
  }
  for (char c : result_) {
    if (c == broadcast_mark) {
      broadcast_axes();
      continue;
    }
    bool known = false;
    for (const std::string& part : inputs_) known |= part.find(c) != std::string::npos;
    if (!known) invalid(std::string("no operand has the result's label '") + c + "'");
    if (contains(result, label_of(c))) {
      invalid(std::string("label '") + c + "' stands twice in the result");
    }
    result.push_back(label_of(c));
  }
  if (broadcast_rank_ > 0 && result_.find(broadcast_mark) == std::string::npos) {
    invalid("the operands have broadcast axes, so the result needs \"...\"");
  }
  return result;
}

void EinsumEquation::invalid(const std::string& what) const {
  fail(Code::invalid, "einsum: \"%s\": %s", text_, what.c_str());
}

void EinsumEquation::fault(size_t at, const std::string& what) const {
  fail(Code::invalid, "einsum: \"%s\": at %zu: %s", text_, at, what.c_str());
}

}  // namespace mt
