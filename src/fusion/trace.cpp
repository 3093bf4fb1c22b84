// SPDX-License-Identifier: Apache-2.0
#include "fusion/trace.h"

#include <algorithm>
#include <mutex>

#include "backends/backend.h"
#include "base/error.h"
#include "fusion/execute.h"
#include "graph/evaluate.h"
#include "graph/modes.h"
#include "graph/record.h"
#include "graph/variable.h"
#include "ops/checked_indices.h"
#include "ops/ops.h"
#include "ops/random.h"

namespace mt {
namespace {

// Calls within a trace that is being recorded, chained. One that calls itself must come to an end
// before the program's stack does.
class Within {
 public:
  explicit Within(const Trace* trace) : trace_(trace), outer_(innermost) {
    int depth = 1;
    for (const Within* call = outer_; call; call = call->outer_) depth += call->trace_ == trace;
    if (depth > deepest) {
      fail(Code::trace, "trace: the traced function calls its own trace, %d times within one call",
           deepest);
    }
    innermost = this;
  }
  ~Within() { innermost = outer_; }
  Within(const Within&) = delete;

 private:
  static constexpr int deepest = 100;
  static thread_local const Within* innermost;
  const Trace* trace_;
  const Within* outer_;
};
thread_local const Within* Within::innermost = nullptr;

void make_ready_and_contiguous(Tensor* tensor) {
  evaluate(*tensor);
  if (is_contiguous(tensor->shape(), (*tensor)->strides)) return;
  GradientMode mode(false);
  *tensor = copy(*tensor);
  evaluate(*tensor);
}

StreamSource& stream_of(const TraceLog::Draw& draw) {
  return draw.source ? *draw.source : Generator::current();
}

}  // namespace

Trace::~Trace() = default;

size_t Trace::count() const {
  std::lock_guard lock(mutex_);
  return recordings_.size();
}

std::string Trace::explain() const {
  std::lock_guard lock(mutex_);
  return explanation_;
}

std::string Trace::explain_dot() const {
  std::lock_guard lock(mutex_);
  return explanation_dot_;
}

Trace::Form Trace::form_of(const Tensor& tensor) {
  if (!tensor) return {};
  return {true,           tensor.requires_gradient(),
          tensor.dtype(), &tensor.device(),
          tensor.shape(), tensor->ready() ? tensor->strides : contiguous_strides(tensor.shape())};
}

inline const Tensor& Trace::Source::value(const std::vector<Tensor>& inputs,
                                          const std::vector<Tensor>& held) const {
  if (input >= 0) return inputs[input];
  return cell >= 0 ? held[cell] : given;
}

bool Trace::Form::is_of(const Tensor& tensor) const {
  if (!tensor || !present) return static_cast<bool>(tensor) == present;
  if (requires_gradient != tensor.requires_gradient() || dtype != tensor.dtype() ||
      device != &tensor.device() || shape != tensor.shape()) {
    return false;
  }
  return tensor->ready() ? strides == tensor->strides
                         : strides == contiguous_strides(tensor.shape());
}

// Whether a value that the recording treats as fixed has since become state, which changes.
bool Trace::is_outdated(const std::unique_ptr<Recording>& recording) {
  auto changed = [](const Recording::Fixed& fixed) {
    return times_state(fixed.value) != fixed.times_state;
  };
  return std::any_of(recording->fixed.begin(), recording->fixed.end(), changed);
}

bool Trace::fits(const Recording& recording, const std::vector<Tensor>& inputs,
                 const std::vector<Tensor>& held, size_t results) const {
  if (recording.inputs.size() != inputs.size() || recording.results.size() > results ||
      recording.gradient_mode != gradient_mode()) {
    return false;
  }
  if (recording.device && recording.device->backend->configuration() != recording.configuration) {
    return false;
  }
  for (const Switch::Stand& stand : recording.switches) {
    if (!stand.is_so()) return false;
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!recording.inputs[i].is_of(inputs[i])) return false;
  }
  for (size_t c = 0; c < held.size(); ++c) {
    const Cell& cell = recording.cells[c];
    if (cell.read && !cell.before.is_of(held[c])) return false;
  }
  return true;
}

std::vector<Tensor> Trace::values_of(const std::vector<Cell>& cells) {
  std::vector<Tensor> values;
  values.reserve(cells.size());
  for (const Cell& cell : cells) {
    values.push_back(cell.cell->value());
    if (values.back() && !values.back()->ready()) evaluate(values.back());
  }
  return values;
}

std::vector<Tensor> Trace::call(std::vector<Tensor> inputs, Function function) {
  if (TraceLog::current()) {
    // Within another trace, the function is simply part of it.
    const Within within(this);
    return function.run(function.context, inputs);
  }
  // Destroyed after unlocking: owners of borrowed memory are told, and may call this trace again.
  std::vector<std::unique_ptr<Recording>> gone;
  std::lock_guard lock(mutex_);
  for (Tensor& input : inputs) make_ready_and_contiguous(&input);
  for (std::unique_ptr<Recording>& recording : recordings_) {
    if (!is_outdated(recording)) continue;
    gone.reserve(recordings_.size());
    gone.push_back(std::move(recording));
  }
  if (!gone.empty()) std::erase(recordings_, nullptr);
  for (size_t i = recordings_.size(); i-- > 0;) {
    std::vector<Tensor> held = values_of(recordings_[i]->cells);
    if (!fits(*recordings_[i], inputs, held, function.results)) continue;
    std::rotate(recordings_.begin() + static_cast<ptrdiff_t>(i),
                recordings_.begin() + static_cast<ptrdiff_t>(i) + 1, recordings_.end());
    return run(*recordings_.back(), inputs, held, true);
  }
  recordings_.reserve(most_recordings);  // nothing may fail once it has run
  gone.reserve(gone.size() + 1);
  TraceLog log;
  try {
    std::unique_ptr<Recording> recording = record(inputs, function, log);
    // The recording has drawn its random streams already.
    std::vector<Tensor> held = values_of(recording->cells);
    std::vector<Tensor> results = run(*recording, inputs, held, false);
    if (recordings_.size() == most_recordings) {
      gone.push_back(std::move(recordings_.front()));
      recordings_.erase(recordings_.begin());
    }
    recordings_.push_back(std::move(recording));
    return results;
  } catch (...) {
    log.take_draws_back();
    throw;
  }
}

std::vector<Immediates> Trace::draw_streams(const Recording& recording,
                                            std::vector<Immediates>* drawn_now) {
  std::vector<Immediates> immediates = recording.immediates;
  std::vector<Immediates>& drawn = *drawn_now;
  drawn.reserve(recording.draws.size());
  for (const TraceLog::Draw& draw : recording.draws) drawn.push_back(stream_of(draw).draw());
  for (size_t i = 0; i < immediates.size(); ++i) {
    int draw = recording.draw_of_item[i];
    if (draw >= 0) immediates[i] = drawn[draw];
  }
  return immediates;
}

// Whether the tensor in a cell can stay, since the cell's next value takes over its memory: nobody
// else has it (may_take below), and it is a leaf of the same form.
bool Trace::stays(const Cell& cell, const Tensor& held, const Execution& execution) {
  const Output& after = cell.after;
  return after.item >= 0 && cell.keeps_form && held->op->kind == OpKind::leaf &&
         execution.takes_over(after.item, *held->storage) && held->variable == cell.variable &&
         held->offset == after.view.offset;
}

// `held`: what each cell holds now.
std::vector<Tensor> Trace::run(Recording& recording, const std::vector<Tensor>& inputs,
                               const std::vector<Tensor>& held, bool fresh_streams) {
  auto given = [&](const Output& output) {
    const Tensor& source = output.source.value(inputs, held);
    Layout view = output.view;
    view.offset += source->offset;
    return make_leaf(source->storage, source.dtype(), view);
  };
  for (const Recording::Check& check : recording.checks) {
    check_indices(given(check.indices), check.axis, check.shape, check.name, check.from_end,
                  check.ignored);
  }
  Execution execution(recording.plan, recording.device, recording.items.size());
  for (const Source& leaf : recording.leaves) {
    execution.bind_leaf(*leaf.value(inputs, held).node());
  }
  // Only what nothing but its cell refers to may be overwritten; the second reference is in `held`.
  auto may_take = [&](int leaf) {
    const int cell = recording.leaves[leaf].cell;
    const Node& node = *held[cell].node();
    return node.references() == 2 && has_storage_alone(node);
  };
  execution.take_memory(may_take, [&](int item) {
    return item < 0 ? recording.items.back().name : recording.items[item].name;
  });

  // What is handed out is made before anything runs: a run may overwrite what the state holds, so
  // nothing may fail after it. Random streams are drawn last.
  auto value_of = [&](const Output& output) {
    if (output.item < 0) return given(output);
    size_t item = output.item;
    return make_leaf(execution.output(output.item), recording.items[item].dtype, output.view);
  };
  std::vector<Tensor> results, after;
  results.reserve(recording.results.size());
  after.reserve(held.size());
  for (const Output& output : recording.results) results.push_back(value_of(output));
  for (size_t c = 0; c < held.size(); ++c) {
    const Cell& cell = recording.cells[c];
    bool made = cell.changed && !cell.cleared && !stays(cell, held[c], execution);
    after.push_back(made ? value_of(cell.after) : nullptr);
  }
  bool draws = fresh_streams && !recording.draws.empty();
  std::vector<Immediates> drawn;
  try {
    // Not one expression, which would copy the recording's immediates.
    if (draws) {
      execution.run(draw_streams(recording, &drawn).data());
    } else {
      execution.run(recording.immediates.data());
    }
  } catch (...) {
    for (size_t d = drawn.size(); d-- > 0;) {
      stream_of(recording.draws[d]).take_back(drawn[d].value[1], 1);
    }
    throw;
  }
  for (size_t c = 0; c < recording.cells.size(); ++c) {
    const Cell& cell = recording.cells[c];
    if (!cell.changed || (!after[c] && !cell.cleared)) continue;
    if (after[c] && cell.variable) {
      after[c]->variable = cell.variable;
      after[c]->requires_gradient = cell.requires_gradient;
    }
    cell.cell->replace(std::move(after[c]));
  }
  return results;
}

}  // namespace mt
