// SPDX-License-Identifier: Apache-2.0
#include "graph/tape.h"

#include <algorithm>

#include "graph/variable.h"
#include "graph/window.h"
#include "tensor/error.h"

namespace mt {
namespace {

std::string describe(const Tensor& tensor) {
  return std::string(name_of(tensor.dtype())) + to_string(tensor.shape());
}

}  // namespace

void Tape::begin() {
  if (window_) fail(Code::invalid, "tape: it is recording already");
  window_ = &Window::current();
  window_->tapes.push_back(this);
}

void Tape::end() {
  if (!window_) return;
  auto& tapes = window_->tapes;
  tapes.erase(std::find(tapes.begin(), tapes.end(), this));
  window_ = nullptr;
}

void Tape::append(const Tensor& node) {
  index_.emplace(node.node(), static_cast<int64_t>(nodes_.size()));
  nodes_.push_back(node);
}

int64_t Tape::index_of(const Tensor& tensor) const {
  auto found = index_.find(tensor.node());
  return found == index_.end() ? -1 : found->second;
}

std::string Tape::to_text() const {
  std::string text;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const Tensor& node = nodes_[i];
    text += "%" + std::to_string(i) + " = " + node->op->name;
    const char* separator = " ";
    for (const Tensor& input : node->inputs) {
      int64_t index = index_of(input);
      text += separator;
      text += index >= 0 ? "%" + std::to_string(index) : describe(input);
      separator = ", ";
    }
    text += " : " + describe(node) + "\n";
  }
  return text;
}

std::string Tape::to_dot() const {
  std::string text = "digraph tape {\n  node [shape=box, fontname=\"sans-serif\"];\n";
  std::unordered_map<const Node*, int64_t> outside;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const Tensor& node = nodes_[i];
    std::string name = "n" + std::to_string(i);
    text += "  " + name + " [label=\"" + node->op->name + "\\n" + describe(node) + "\"];\n";
    for (const Tensor& input : node->inputs) {
      int64_t index = index_of(input);
      if (index >= 0) {
        text += "  n" + std::to_string(index) + " -> " + name + ";\n";
        continue;
      }
      auto [entry, is_new] = outside.emplace(input.node(), static_cast<int64_t>(outside.size()));
      std::string leaf = "x" + std::to_string(entry->second);
      if (is_new) text += "  " + leaf + " [shape=ellipse, label=\"" + describe(input) + "\"];\n";
      text += "  " + leaf + " -> " + name + ";\n";
    }
  }
  return text + "}\n";
}

}  // namespace mt
