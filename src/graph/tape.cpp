// SPDX-License-Identifier: Apache-2.0
#include "graph/tape.h"

#include <algorithm>

#include "base/error.h"
#include "graph/history.h"
#include "graph/trace_log.h"
#include "graph/variable.h"
#include "graph/window.h"

namespace mt {
namespace {

// To be called after the window's tapes have changed.
void count_recording_tapes(Window& window) {
  const auto& tapes = window.tapes;
  const auto paused = std::find(tapes.rbegin(), tapes.rend(), nullptr);
  window.recording_tapes = static_cast<size_t>(paused - tapes.rbegin());
}

}  // namespace

Tape::~Tape() {
  end();
  for (const Entry& entry : entries_) {
    if (!entry.outside) release_from_tape(*entry.node.node());
  }
}

void Tape::begin() {
  if (window_) fail(Code::invalid, "tape: it is recording already");
  Window& window = Window::current();
  OwnerLock::Hold hold(window.lock, &current_thread());
  window.tapes.push_back(this);
  window_ = &window;
  count_recording_tapes(window);
}

void Tape::end() {
  Window* window = window_;
  if (!window) return;
  OwnerLock::Hold hold(window->lock, &current_thread());
  if (!window_) return;  // the thread has ended meanwhile
  std::erase(window->tapes, this);
  window_ = nullptr;
  count_recording_tapes(*window);
}

void Tape::end_all(Window& window) {
  OwnerLock::Hold hold(window.lock, &current_thread());
  for (Tape* tape : window.tapes) {
    if (tape) tape->window_ = nullptr;  // nullptr marks a pause, in which a thread may end
  }
  window.tapes.clear();
  window.recording_tapes = 0;
}

void Tape::append_to_all(Window& window, const Tensor& node, Thread& thread) {
  OwnerLock::Hold hold(window.lock, &thread);
  for (size_t i = window.tapes.size() - window.recording_tapes; i < window.tapes.size(); ++i) {
    window.tapes[i]->append(node);
  }
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

TapePause::TapePause() {
  if (TraceLog::current()) return;
  Window& window = Window::current();
  OwnerLock::Hold hold(window.lock, &current_thread());
  window.tapes.push_back(nullptr);
  window_ = &window;
  window.recording_tapes = 0;
}

TapePause::~TapePause() {
  if (!window_) return;
  OwnerLock::Hold hold(window_->lock, &current_thread());
  auto& tapes = window_->tapes;  // some may have ended, others begun
  tapes.erase(std::prev(std::find(tapes.rbegin(), tapes.rend(), nullptr).base()));
  count_recording_tapes(*window_);
}

}  // namespace mt
