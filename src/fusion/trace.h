// SPDX-License-Identifier: Apache-2.0
// Trace and replay: a function is recorded once for each structure of its inputs and state, and
// after that its plan runs again with other values, for a few nanoseconds an operator.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "fusion/region.h"
#include "graph/switch.h"
#include "graph/trace_log.h"
#include "plan/plan.h"

namespace mt {

class Execution;
class Variable;

class Trace {
 public:
  // The traced function: called to record, on `inputs`; returns at most `results` results.
  struct Function {
    std::vector<Tensor> (*run)(void* context, const std::vector<Tensor>& inputs);
    void* context;
    size_t results;
  };

  // Runs the function: by recording it if nothing recorded fits, then by replay. On failure
  // throws, and no state has changed. One thread at a time; others wait. No other thread may read
  // the state that it changes meanwhile: a new value may be written where the old one is.
  std::vector<Tensor> call(std::vector<Tensor> inputs, Function function);
  // How many recordings there are; the least recently used make room for new ones.
  size_t count() const;
  // What the latest recording does, for a reader; empty before the first call.
  std::string explain() const;
  std::string explain_dot() const;

  ~Trace();

 private:
  struct Form {  // what must agree for a recording to serve
    bool present = false;
    bool requires_gradient = false;
    Dtype dtype = Dtype::float32;
    Device* device = nullptr;
    Shape shape;
    Strides strides;
    bool is_of(const Tensor& tensor) const;
  };
  struct Source {    // where a value comes from at each replay
    int input = -1;  // it is this input, as it came
    int cell = -1;   // it is what this cell held
    Tensor given;    // it is this value, always
    const Tensor& value(const std::vector<Tensor>& inputs, const std::vector<Tensor>& held) const;
  };
  struct Output {   // a value the recording hands out
    int item = -1;  // where it is computed; -1: it is not, see `source`
    Source source;
    Layout view;
  };
  struct Cell {
    Ref<StateCell> cell;
    Form before;
    bool read = false;  // its old value matters
    bool changed = false;
    Output after;
    bool cleared = false;  // it holds nothing afterwards
    Ref<Variable> variable;
    bool requires_gradient = false;
    bool keeps_form = false;  // what it holds afterwards has the form of what was read before
  };
  struct Recording {
    std::vector<Form> inputs;
    bool gradient_mode = true;
    std::vector<Cell> cells;
    std::vector<Output> results;
    std::vector<Source> leaves;
    struct Fixed {  // a value that has no other source, and its times_state() at recording
      Tensor value;
      int32_t times_state;
    };
    std::vector<Fixed> fixed;
    std::vector<Immediates> immediates;
    std::vector<TraceLog::Draw> draws;  // without a source: from the generator that is current
    std::vector<Switch::Stand> switches;
    std::vector<int> draw_of_item;  // -1: not random
    struct Check {
      Output indices;
      int axis;
      Shape shape;
      const char* name;
      bool from_end;
      int64_t ignored;
    };
    std::vector<Check> checks;  // made before anything runs
    struct Value {
      Shape shape;
      Dtype dtype;
      const char* name;  // of the operator
    };
    std::vector<Value> items;
    Device* device = nullptr;
    uint64_t configuration = 0;  // of the backend, when the plan was made
    Plan plan;
  };

  class Recorder;

  static Form form_of(const Tensor& tensor);
  static bool is_outdated(const std::unique_ptr<Recording>& recording);
  static std::vector<Tensor> values_of(const std::vector<Cell>& cells);
  static bool stays(const Cell& cell, const Tensor& held, const Execution& execution);
  bool fits(const Recording& recording, const std::vector<Tensor>& inputs,
            const std::vector<Tensor>& held, size_t results) const;
  std::unique_ptr<Recording> record(const std::vector<Tensor>& inputs, Function function,
                                    TraceLog& log);
  std::vector<Tensor> run(Recording& recording, const std::vector<Tensor>& inputs,
                          const std::vector<Tensor>& held, bool fresh_streams);
  static std::vector<Immediates> draw_streams(const Recording& recording,
                                              std::vector<Immediates>* drawn);

  static constexpr size_t most_recordings = 64;

  mutable std::recursive_mutex mutex_;                  // a function may call its own trace
  std::vector<std::unique_ptr<Recording>> recordings_;  // most recently used last
  std::string explanation_, explanation_dot_;
};

}  // namespace mt
