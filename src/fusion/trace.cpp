// SPDX-License-Identifier: Apache-2.0
#include "fusion/trace.h"

#include <algorithm>
#include <mutex>
#include <optional>

#include "backends/backend.h"
#include "fusion/execute.h"
#include "fusion/explain.h"
#include "fusion/planner.h"
#include "graph/evaluate.h"
#include "graph/record.h"
#include "graph/tape.h"
#include "graph/variable.h"
#include "graph/window.h"
#include "ops/indexing.h"
#include "ops/kernel.h"
#include "ops/ops.h"
#include "tensor/error.h"

namespace mt {
namespace {

void make_ready_and_contiguous(Tensor* tensor) {
  evaluate(*tensor);
  if (is_contiguous(tensor->shape(), (*tensor)->strides)) return;
  GradientMode mode(false);
  *tensor = copy(*tensor);
  evaluate(*tensor);
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

bool Trace::Form::is_of(const Tensor& tensor) const {
  if (!tensor || !present) return static_cast<bool>(tensor) == present;
  return requires_gradient == tensor.requires_gradient() && dtype == tensor.dtype() &&
         device == &tensor.device() && shape == tensor.shape() &&
         strides == (tensor->ready() ? tensor->strides : contiguous_strides(tensor.shape()));
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
    return function.run(function.context, inputs);
  }
  std::lock_guard lock(mutex_);
  for (Tensor& input : inputs) make_ready_and_contiguous(&input);
  for (size_t i = recordings_.size(); i-- > 0;) {
    std::vector<Tensor> held = values_of(recordings_[i]->cells);
    if (!fits(*recordings_[i], inputs, held, function.results)) continue;
    std::rotate(recordings_.begin() + static_cast<ptrdiff_t>(i),
                recordings_.begin() + static_cast<ptrdiff_t>(i) + 1, recordings_.end());
    return run(*recordings_.back(), inputs, held, true);
  }
  recordings_.reserve(most_recordings);  // nothing may fail once it has run
  TraceLog log;
  try {
    std::unique_ptr<Recording> recording = record(inputs, function, log);
    // The recording has drawn its random streams already.
    std::vector<Tensor> held = values_of(recording->cells);
    std::vector<Tensor> results = run(*recording, inputs, held, false);
    if (recordings_.size() == most_recordings) recordings_.erase(recordings_.begin());
    recordings_.push_back(std::move(recording));
    return results;
  } catch (...) {
    log.take_draws_back();
    throw;
  }
}

std::unique_ptr<Trace::Recording> Trace::record(const std::vector<Tensor>& inputs,
                                                Function function, TraceLog& log) {
  settle();  // what the function finds is ready, and all pending nodes are its own
  auto recording = std::make_unique<Recording>();
  recording->gradient_mode = gradient_mode();
  std::vector<Tensor> placeholders;
  for (const Tensor& input : inputs) {
    recording->inputs.push_back(form_of(input));
    placeholders.push_back(make_leaf(input->storage, input.dtype(), input->layout()));
  }

  std::optional<Tape> tape;
  std::vector<Tensor> results;
  Window& window = Window::current();
  // Other threads that were given what the function makes cannot have it computed.
  struct Tracing {
    Window& window;
    explicit Tracing(Window& traced) : window(traced) { mark(true); }
    ~Tracing() { mark(false); }
    void mark(bool tracing) {
      OwnerLock::Hold hold(window.lock, &current_thread());
      window.tracing = tracing;
    }
  } tracing(window);
  {
    TraceLog::Recording listening(&log);
    auto run_function = [&] {
      tape.emplace();
      tape->begin();
      results = function.run(function.context, placeholders);
      tape->end();
    };
    run_function();
    if (log.late_state) {
      results.clear();
      log.start_over();
      run_function();
    }
  }

  DisposalPause pause;
  OwnerLock::Hold hold(window.lock, &current_thread());
  std::vector<Tensor> wanted;
  for (const Tensor& result : results) wanted.push_back(result);
  for (const TraceLog::Touched& touched : log.touched) {
    const Tensor& after = touched.now;
    if (after && after.node() != touched.seen.node()) wanted.push_back(after);
  }
  std::vector<Tensor> pending;
  for (const Tensor& tensor : wanted) {
    bool computed = !tensor || tensor->ready() || (tensor->base && tensor->base->ready());
    if (!computed) pending.push_back(tensor);
  }
  Region region;
  if (!pending.empty()) {
    select_exactly(window, pending.data(), pending.size());
    std::vector<Device*> devices;
    devices_with_work(window, &devices);
    if (devices.size() > 1) {
      fail(Code::trace, "trace: operators on %s and %s cannot be in one trace",
           devices[0]->name.c_str(), devices[1]->name.c_str());
    }
    build_region(window, *devices[0], &region);
  }
  auto index_of = [](const std::vector<Tensor>& tensors, const Node* node) {
    for (size_t i = 0; i < tensors.size(); ++i) {
      if (tensors[i].node() == node) return static_cast<int>(i);
    }
    return -1;
  };
  auto cell_before = [&](const Node* node) {
    for (size_t c = 0; c < log.touched.size(); ++c) {
      if (log.touched[c].seen.node() == node) return static_cast<int>(c);
    }
    return -1;
  };
  auto output_of = [&](const Tensor& tensor) {
    Output output;
    const Node* base = tensor->base ? tensor->base.node() : tensor.node();
    output.view =
        tensor->ready() || tensor->base ? tensor->layout() : contiguous_layout(tensor.shape());
    if (base->ready()) {
      // Handed through, perhaps as a view.
      output.leaf_input = index_of(placeholders, base);
      if (output.leaf_input < 0) output.leaf_cell = cell_before(base);
      if (output.leaf_input < 0 && output.leaf_cell < 0)
        output.given = Tensor(const_cast<Node*>(base));
      output.view.offset -= base->offset;
      return output;
    }
    for (size_t i = 0; i < region.items.size(); ++i) {
      if (region.items[i].node == base) output.item = static_cast<int>(i);
    }
    return output;
  };

  for (const TraceLog::Touched& touched : log.touched) {
    Cell cell;
    cell.cell = touched.cell;
    cell.before = form_of(touched.before);
    const Tensor& after = touched.now;
    cell.read = touched.read;
    cell.changed = after.node() != touched.seen.node() || (touched.written && !touched.read);
    cell.cleared = cell.changed && !after;
    if (cell.changed && after) {
      cell.after = output_of(after);
      cell.variable = after->variable;
      cell.requires_gradient = after->variable && after->requires_gradient;
      cell.keeps_form = touched.read && cell.before.present &&
                        cell.before.requires_gradient == cell.requires_gradient &&
                        cell.before.dtype == after.dtype() &&
                        cell.before.shape == cell.after.view.shape &&
                        cell.before.strides == cell.after.view.strides;
    }
    recording->cells.push_back(std::move(cell));
  }
  for (const Tensor& result : results) recording->results.push_back(output_of(result));
  // A function of the user's own may fail, after which the state must be what it was.
  bool can_fail = std::any_of(region.items.begin(), region.items.end(), [](const Item& item) {
    return is_kernel(*item.node->op) && item.node->device->host_memory;
  });
  for (Leaf& leaf : region.leaves) {
    Binding binding;
    binding.input = index_of(placeholders, leaf.node);
    if (binding.input < 0) binding.cell = cell_before(leaf.node);
    if (binding.input < 0 && binding.cell < 0) binding.given = Tensor(const_cast<Node*>(leaf.node));
    // State that is replaced may give its memory to what replaces it, unless it is also handed out.
    leaf.donatable = !can_fail && binding.cell >= 0 &&
                     recording->cells[static_cast<size_t>(binding.cell)].changed &&
                     leaf.node->offset == 0 && is_contiguous(leaf.node->layout());
    for (const Tensor& tensor : wanted) {
      leaf.donatable &= !tensor || (tensor.node() != leaf.node && tensor->base.node() != leaf.node);
    }
    recording->leaves.push_back(std::move(binding));
  }
  for (const TraceLog::Check& check : log.checks) {
    recording->checks.push_back(
        {output_of(check.indices), check.axis, check.shape, check.name, check.from_end});
  }
  recording->draws = log.draws;
  for (const Item& item : region.items) {
    recording->items.push_back({item.node->shape, item.node->dtype, item.node->op->name});
    recording->immediates.push_back(item.node->immediates);
    int found = -1;
    for (size_t d = 0; item.node->op->kind == OpKind::random && d < recording->draws.size(); ++d) {
      const Immediates& drawn = recording->draws[d].immediates;
      if (drawn.value[0] == item.node->immediates.value[0] &&
          drawn.value[1] == item.node->immediates.value[1]) {
        found = static_cast<int>(d);
      }
    }
    recording->draw_of_item.push_back(found);
  }
  recording->device = region.device;
  if (!region.items.empty()) {
    recording->configuration = region.device->backend->configuration();
    make_plan(region, &recording->plan);
    explanation_ = explain_region(region);
    explanation_dot_ = explain_region_dot(region);
  }
  return recording;
}

std::vector<Immediates> Trace::draw_streams(const Recording& recording,
                                            std::vector<Immediates>* drawn_now) {
  std::vector<Immediates> immediates = recording.immediates;
  std::vector<Immediates>& drawn = *drawn_now;
  drawn.reserve(recording.draws.size());
  for (const TraceLog::Draw& draw : recording.draws) drawn.push_back(draw.source->draw());
  for (size_t i = 0; i < immediates.size(); ++i) {
    int draw = recording.draw_of_item[i];
    if (draw >= 0) immediates[i] = drawn[static_cast<size_t>(draw)];
  }
  return immediates;
}

// Whether the value of a cell, whose memory its next one takes over, is as good a tensor for that:
// nobody else has it (may_take below), and it is a leaf of the same form.
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
    const Tensor& source = output.leaf_input >= 0  ? inputs[static_cast<size_t>(output.leaf_input)]
                           : output.leaf_cell >= 0 ? held[static_cast<size_t>(output.leaf_cell)]
                                                   : output.given;
    Layout view = output.view;
    view.offset += source->offset;
    return make_leaf(source->storage, source.dtype(), view);
  };
  for (const Recording::Check& check : recording.checks) {
    check_indices(given(check.indices), check.axis, check.shape, check.name, check.from_end);
  }
  Execution execution(recording.plan, recording.device, recording.items.size());
  for (const Binding& binding : recording.leaves) {
    const Tensor& value = binding.input >= 0  ? inputs[static_cast<size_t>(binding.input)]
                          : binding.cell >= 0 ? held[static_cast<size_t>(binding.cell)]
                                              : binding.given;
    execution.bind_leaf(*value.node());
  }
  // Only what nothing but its cell refers to may be overwritten: the cell, and `held` here.
  auto may_take = [&](int leaf) {
    const Binding& binding = recording.leaves[static_cast<size_t>(leaf)];
    const Node& node = *held[static_cast<size_t>(binding.cell)].node();
    return node.references() == 2 && node.storage->unique() && !node.storage->borrowed() &&
           !node.storage->pinned() && node.offset == 0 &&
           node.storage->bytes() == static_cast<size_t>(node.bytes());
  };
  execution.take_memory(
      [](const void* context, int leaf) {
        return (*static_cast<const decltype(may_take)*>(context))(leaf);
      },
      &may_take,
      [&](int item) {
        return item < 0 ? recording.items.back().name
                        : recording.items[static_cast<size_t>(item)].name;
      });

  // What is handed out is made before anything runs: a run may overwrite what the state holds, so
  // nothing may fail after it. Random streams are drawn last.
  auto value_of = [&](const Output& output) {
    if (output.item < 0) return given(output);
    size_t item = static_cast<size_t>(output.item);
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
    execution.run((draws ? draw_streams(recording, &drawn) : recording.immediates).data());
  } catch (...) {
    for (size_t d = drawn.size(); d-- > 0;) {
      recording.draws[d].source->take_back(drawn[d].value[1], 1);
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
