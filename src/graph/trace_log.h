// SPDX-License-Identifier: Apache-2.0
// What a function touches while it is being traced: the state it reads or changes, and the random
// streams it draws. These are the trace's hidden inputs and outputs.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/thread.h"
#include "graph/node.h"

namespace mt {

class StateCell;

// Where random streams come from. One stream serves one random operator.
class StreamSource : public Counted<StreamSource> {
 public:
  virtual ~StreamSource() = default;
  virtual Immediates draw() = 0;  // {seed, stream}, and moves on
  // Gives back the last `count` streams, the first of them `first`, unless others have drawn since.
  virtual void take_back(uint64_t first, uint64_t count) = 0;
};

class TraceLog {
 public:
  // The log of the trace that records on the calling thread; nullptr when none does.
  static TraceLog* current() { return current_thread().trace; }

  struct Touched {
    Ref<StateCell> cell;
    Tensor before;      // its value when it was first touched
    Tensor seen;        // what stands for it in the trace
    Tensor now;         // what the traced function has put there; at first `seen`
    bool read = false;  // before it was written: its old value matters
    bool written = false;
  };
  // Index tensors whose values a recording cannot see: each replay checks that they lie in
  // [0, size), or [-size, size) if `from_end`, or equal `ignored`.
  struct Check {
    Tensor indices;
    int axis;
    Shape shape;
    const char* name;
    bool from_end;
    int64_t ignored;
  };
  struct Draw {
    Ref<StreamSource> source;
    Immediates immediates;
    const Node* node;  // the node recorded with it, which may be gone
  };

  Touched& touch(StateCell* cell);
  Touched* find(const StateCell* cell);  // nullptr: not touched
  void note(StreamSource* source, const Immediates& drawn, const Node* node);
  void take_draws_back();
  // Gives back the draws and forgets everything noted.
  void start_over();

  std::vector<Touched> touched;
  std::vector<Draw> draws;
  std::vector<Check> checks;
  // A tensor from outside became state only when the function changed it. Earlier reads of it were
  // recorded as a fixed value, so the function has to be recorded once more.
  bool late_state = false;

  // Makes this the current log for the object's life.
  class Current {
   public:
    explicit Current(TraceLog* log) : previous_(std::exchange(current_thread().trace, log)) {}
    ~Current() { current_thread().trace = previous_; }
    Current(const Current&) = delete;

   private:
    TraceLog* previous_;
  };

  TraceLog();
  ~TraceLog();
};

}  // namespace mt
