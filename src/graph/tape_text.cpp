// SPDX-License-Identifier: Apache-2.0
// A tape for people to read.
#include "graph/tape.h"

namespace mt {
namespace {

std::string describe(const Tensor& tensor) {
  return std::string(name_of(tensor.dtype())) + to_string(tensor.shape());
}

}  // namespace

std::string Tape::to_text() const {
  std::string text;
  for (size_t i = 0; i < entries_.size(); ++i) {
    const Entry& entry = entries_[i];
    text += "%" + std::to_string(i) + " = " + entry.operation();
    if (!entry.outside) {
      text += "(";
      for (size_t j = 0; j < entry.inputs.size(); ++j) {
        text += (j ? ", %" : "%") + std::to_string(entry.inputs[j]);
      }
      text += ")";
    }
    text += "  " + describe(entry.node) + "\n";
  }
  return text;
}

std::string Tape::to_dot() const {
  std::string text = "digraph tape {\n  node [shape=box, fontname=\"sans-serif\"];\n";
  for (size_t i = 0; i < entries_.size(); ++i) {
    const Entry& entry = entries_[i];
    std::string name = "n" + std::to_string(i);
    text += "  " + name + " [" + (entry.outside ? "shape=ellipse, " : "") + "label=\"" +
            entry.operation() + "\\n" + describe(entry.node) + "\"];\n";
    for (int64_t input : entry.inputs) {
      text += "  n" + std::to_string(input) + " -> " + name + ";\n";
    }
  }
  return text + "}\n";
}

}  // namespace mt
