// SPDX-License-Identifier: Apache-2.0
// A tape: the operators recorded while it listened, in order, each kept with its inputs.
#pragma once

#include <atomic>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/node.h"

namespace mt {

class Tape {
 public:
  struct Entry {
    Tensor node;
    bool outside;  // made before or elsewhere; it stands just before its first use
    SmallVector<int64_t, 3> inputs;
    const char* operation() const { return outside ? "input" : node->op->name; }
  };

  Tape() = default;
  Tape(const Tape&) = delete;
  ~Tape();

  // begin() starts listening on the calling thread; end() stops, on any thread. Tapes nest.
  void begin();
  void end();
  // Ends all tapes that listen to the window's thread, which is ending.
  static void end_all(Window& window);
  // Appends a new node to all tapes that record the calling thread; `window` is that thread's.
  static void append_to_all(Window& window, const Tensor& node, Thread& thread);

  const std::vector<Entry>& entries() const { return entries_; }
  // Where a tensor stands among the entries; -1 when the tape does not hold it.
  int64_t index_of(const Tensor& tensor) const;

  std::string to_text() const;
  std::string to_dot() const;

 private:
  void append(const Tensor& node);

  std::vector<Entry> entries_;
  std::unordered_map<const Node*, int64_t> index_;
  std::atomic<Window*> window_{nullptr};  // changed under its lock
};

// Pauses the calling thread's tapes for the object's life; has no effect inside a trace.
class TapePause {
 public:
  TapePause();
  ~TapePause();
  TapePause(const TapePause&) = delete;

 private:
  Window* window_ = nullptr;
};

}  // namespace mt
