// SPDX-License-Identifier: Apache-2.0
#include "graph/tape.h"

#include <algorithm>
#include <mutex>

#include "graph/history.h"
#include "graph/trace_log.h"
#include "graph/variable.h"
#include "graph/window.h"
#include "tensor/error.h"

namespace mt {
namespace {

std::string describe(const Tensor& tensor) {
  return std::string(name_of(tensor.dtype())) + to_string(tensor.shape());
}

// Guards which thread a tape listens to.
std::mutex& listening_mutex() {
  static auto* mutex = new std::mutex;  // outlives every thread
  return *mutex;
}

}  // namespace

Tape::~Tape() {
  end();
  for (const Entry& entry : entries_) {
    if (!entry.outside) end_showing(*entry.node.node());
  }
}

void Tape::begin() {
  if (window_) fail(Code::invalid, "tape: it is recording already");
  std::lock_guard lock(listening_mutex());
  window_ = &Window::current();
  window_->tapes.push_back(this);
}

void Tape::end() {
  std::lock_guard lock(listening_mutex());
  if (!window_) return;
  auto& tapes = window_->tapes;
  tapes.erase(std::remove(tapes.begin(), tapes.end(), this), tapes.end());
  window_ = nullptr;
}

void Tape::end_all(Window& window) {
  std::lock_guard lock(listening_mutex());
  for (Tape* tape : window.tapes) tape->window_ = nullptr;
  window.tapes.clear();
}

void Tape::append(const Tensor& node) {
  const size_t before = entries_.size(), most = before + node->inputs.size() + 1;
  if (most > entries_.capacity()) entries_.reserve(std::max(most, 2 * entries_.capacity()));
  Entry entry{node, false, {}};
  entry.inputs.reserve(node->inputs.size());
  try {
    for (const Tensor& input : node->inputs) {
      auto [found, is_new] = index_.emplace(input.node(), static_cast<int64_t>(entries_.size()));
      if (is_new) entries_.push_back({input, true, {}});
      entry.inputs.push_back(found->second);
    }
    index_[node.node()] = static_cast<int64_t>(entries_.size());
  } catch (...) {
    for (; entries_.size() > before; entries_.pop_back()) {
      index_.erase(entries_.back().node.node());
    }
    throw;
  }
  entries_.push_back(std::move(entry));
  ++node->history_use.tapes;  // nobody else knows the node yet
}

int64_t Tape::index_of(const Tensor& tensor) const {
  auto found = index_.find(tensor.node());
  return found == index_.end() ? -1 : found->second;
}

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

TapePause::TapePause() {
  if (!TraceLog::current()) paused_.swap(Window::current().tapes);
}

TapePause::~TapePause() {
  if (!paused_.empty()) Window::current().tapes.swap(paused_);
}

}  // namespace mt
