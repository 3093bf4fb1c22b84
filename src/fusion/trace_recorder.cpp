// SPDX-License-Identifier: Apache-2.0
// How a function becomes a recording: it is called once, on a tape, while a log notes the state
// that it touches; then its operators become one plan, and everything else is described by where
// its value comes from.
#include <algorithm>
#include <optional>

#include "backends/backend.h"
#include "base/error.h"
#include "fusion/explain.h"
#include "fusion/planning/planner.h"
#include "fusion/select.h"
#include "fusion/trace.h"
#include "graph/evaluate.h"
#include "graph/modes.h"
#include "graph/record.h"
#include "graph/tape.h"
#include "graph/variable.h"
#include "graph/window.h"
#include "ops/ops.h"
#include "ops/random.h"

namespace mt {
namespace {

// While one exists, other threads cannot evaluate what the traced function makes.
class Tracing {
 public:
  explicit Tracing(Window& window) : window_(window) { mark(true); }
  ~Tracing() { mark(false); }
  Tracing(const Tracing&) = delete;

 private:
  void mark(bool tracing) {
    OwnerLock::Hold hold(window_.lock, &current_thread());
    window_.tracing = tracing;
  }
  Window& window_;
};

bool same_numbers(const Immediates& a, const Immediates& b) {
  return a.value[0] == b.value[0] && a.value[1] == b.value[1];
}

// Whether a replay has to set the cell: to another value or, if the recording never read it, even
// to the value that it had.
bool is_changed(const TraceLog::Touched& touched) {
  return touched.now.node() != touched.seen.node() || (touched.written && !touched.read);
}

}  // namespace

class Trace::Recorder {
 public:
  Recorder(const std::vector<Tensor>& inputs, TraceLog& log)
      : log_(log), recording_(std::make_unique<Recording>()) {
    recording_->gradient_mode = gradient_mode();
    for (const Tensor& input : inputs) {
      recording_->inputs.push_back(form_of(input));
      placeholders_.push_back(make_leaf(input->storage, input.dtype(), input->layout()));
    }
  }

  // Calls the function, and again if the first call turned a plain value into state.
  void run(const Function& function) {
    TraceLog::Current current(&log_);
    call(function);
    if (!log_.late_state) return;
    results_.clear();
    log_.start_over();
    switches_.stands.clear();
    call(function);
  }

  // The region of the recorded operators. The caller holds the window's lock.
  const Region& select(Window& window) {
    wanted_ = results_;
    for (const TraceLog::Touched& touched : log_.touched) {
      if (touched.now && is_changed(touched)) wanted_.push_back(touched.now);
    }
    std::vector<Tensor> pending;
    for (const Tensor& tensor : wanted_) {
      if (tensor && !is_computed(tensor)) pending.push_back(tensor);
    }
    if (pending.empty()) return region_;
    select_exactly(window, pending.data(), pending.size());
    std::vector<Device*> devices;
    devices_with_work(window, &devices);
    if (devices.size() > 1) {
      fail(Code::trace, "trace: operators on %s and %s cannot be in one trace",
           devices[0]->name.c_str(), devices[1]->name.c_str());
    }
    build_region(window, *devices[0], &region_);
    return region_;
  }

  // All but the plan.
  std::unique_ptr<Recording> recording() {
    for (const TraceLog::Touched& touched : log_.touched) add_cell(touched);
    for (const Tensor& result : results_) recording_->results.push_back(output_of(result));
    add_leaves();
    for (const TraceLog::Check& check : log_.checks) {
      recording_->checks.push_back({output_of(check.indices), check.axis, check.shape, check.name,
                                    check.from_end, check.ignored});
    }
    add_draws();
    add_fixed();
    recording_->switches = std::move(switches_.stands);
    for (const Item& item : region_.items) add_item(*item.node);
    recording_->device = region_.device;
    return std::move(recording_);
  }

 private:
  void call(const Function& function) {
    tape_.emplace();
    tape_->begin();
    results_ = function.run(function.context, placeholders_);
    check_generator();
    copy_parts();
    tape_->end();
  }

  // A replay does not change which generator is current.
  void check_generator() const {
    if (&Generator::current() == generator_.get()) return;
    Generator::use(generator_);
    fail(Code::trace, "trace: the function has left another generator current than it found");
  }

  // Copies results that are less than half of a value: a copy does not keep the rest alive, and
  // what nobody reads of that is not computed (planning/trim.h). Not if the value is kept anyway,
  // nor from calls, which are computed whole, so that a copy would just be one more group.
  void copy_parts() {
    auto base_of_part = [](const Tensor& x) -> const Node* {
      const bool is_part = x && !x->ready() && x->base && !x->base->ready();
      return is_part && x->base->op->kind != OpKind::call ? x->base.node() : nullptr;
    };
    for (Tensor& result : results_) {
      const Node* base = base_of_part(result);
      int64_t read = 0;
      for (const Tensor& other : results_) {
        if (base && base_of_part(other) == base) read += other.size();
      }
      if (base && 2 * read < element_count(base->shape) && !is_kept(base)) result = copy(result);
    }
  }

  // Whether a value is handed out whole or becomes state, even only a part of it, since state may
  // be a variable, which a copy is not.
  bool is_kept(const Node* value) const {
    auto is_value = [&](const Tensor& x) { return x.node() == value; };
    auto holds = [&](const TraceLog::Touched& touched) {
      return touched.now && base_of(touched.now.node()) == value;
    };
    return std::any_of(results_.begin(), results_.end(), is_value) ||
           std::any_of(log_.touched.begin(), log_.touched.end(), holds);
  }

  // Where a ready node's value came from.
  Source source_of(const Node* node) const {
    Source source;
    for (size_t i = 0; i < placeholders_.size(); ++i) {
      if (placeholders_[i].node() != node) continue;
      source.input = static_cast<int>(i);
      return source;
    }
    for (size_t c = 0; c < log_.touched.size(); ++c) {
      if (log_.touched[c].seen.node() != node) continue;
      source.cell = static_cast<int>(c);
      return source;
    }
    source.given = Tensor(const_cast<Node*>(node));
    return source;
  }

  Output output_of(const Tensor& tensor) const {
    Output output;
    const Node* base = base_of(tensor.node());
    output.view =
        tensor->ready() || tensor->base ? tensor->layout() : contiguous_layout(tensor.shape());
    if (base->ready()) {
      // Handed through, perhaps as a view.
      output.source = source_of(base);
      output.view.offset -= base->offset;
      return output;
    }
    for (size_t i = 0; i < region_.items.size(); ++i) {
      if (region_.items[i].node == base) output.item = static_cast<int>(i);
    }
    return output;
  }

  void add_cell(const TraceLog::Touched& touched) {
    Cell cell;
    cell.cell = touched.cell;
    cell.before = form_of(touched.before);
    const Tensor& after = touched.now;
    cell.read = touched.read;
    cell.changed = is_changed(touched);
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
    recording_->cells.push_back(std::move(cell));
  }

  void add_leaves() {
    const bool must_stay = can_fail(region_);
    for (Leaf& leaf : region_.leaves) {
      Source source = source_of(leaf.node);
      leaf.within = -1;
      leaf.donatable = !must_stay && source.cell >= 0 && may_be_replaced(leaf, source.cell);
      if (leaf.donatable) {
        leaf.successor = recording_->cells[source.cell].after.item;
      }
      recording_->leaves.push_back(std::move(source));
    }
  }
  // State that is replaced may give its memory to what replaces it, unless it is also handed out.
  bool may_be_replaced(const Leaf& leaf, int cell) const {
    if (!recording_->cells[cell].changed || leaf.node->offset != 0 ||
        !is_contiguous(leaf.node->layout())) {
      return false;
    }
    return std::none_of(wanted_.begin(), wanted_.end(), [&](const Tensor& tensor) {
      return tensor && (tensor.node() == leaf.node || tensor->base.node() == leaf.node);
    });
  }

  // Draws from the generator that was current at the recording come, at a replay, from the one that
  // is current then.
  void add_draws() {
    recording_->draws = log_.draws;
    for (TraceLog::Draw& draw : recording_->draws) {
      if (draw.source.get() == generator_.get()) draw.source = nullptr;
    }
  }

  // A plain number stays what it is.
  void add_fixed() {
    auto add = [&](const Source& source) {
      if (!source.given || source.given->is_plain_number) return;
      recording_->fixed.push_back({source.given, times_state(source.given)});
    };
    for (const Source& leaf : recording_->leaves) add(leaf);
    for (const Output& result : recording_->results) add(result.source);
    for (const Cell& cell : recording_->cells) add(cell.after.source);
    for (const Recording::Check& check : recording_->checks) add(check.indices.source);
  }

  void add_item(const Node& node) {
    recording_->items.push_back({node.shape, node.dtype, node.op->name});
    recording_->immediates.push_back(node.immediates);
    recording_->draw_of_item.push_back(node.op->kind == OpKind::random ? draw_of(node) : -1);
  }

  // The draw that gave a node its numbers: the one it was recorded with or, if a checkpoint records
  // it again, one with the same numbers, which two generators may both have given.
  int draw_of(const Node& node) const {
    const std::vector<TraceLog::Draw>& draws = recording_->draws;
    const TraceLog::Draw* own = nullptr;
    for (const TraceLog::Draw& draw : draws) {
      if (draw.node == &node && same_numbers(draw.immediates, node.immediates)) own = &draw;
    }
    const TraceLog::Draw* found = nullptr;
    for (const TraceLog::Draw& draw : draws) {
      if (!same_numbers(draw.immediates, node.immediates)) continue;
      if (own && draw.source != own->source) continue;
      if (found && draw.source != found->source) {
        fail(Code::trace,
             "trace: two generators give a checkpoint the same numbers, which a replay could not "
             "tell apart; seed them differently");
      }
      found = &draw;
    }
    return found ? static_cast<int>(found - draws.data()) : -1;
  }

  TraceLog& log_;
  const Ref<Generator> generator_{&Generator::current()};
  Switch::Log switches_;
  std::unique_ptr<Recording> recording_;
  std::vector<Tensor> placeholders_;  // what the function gets for its inputs
  std::optional<Tape> tape_;
  std::vector<Tensor> results_;
  std::vector<Tensor> wanted_;  // the results, and what the state is afterwards
  Region region_;
};

std::unique_ptr<Trace::Recording> Trace::record(const std::vector<Tensor>& inputs,
                                                Function function, TraceLog& log) {
  evaluate_held();  // what the function finds is ready, and all pending nodes are its own
  Recorder recorder(inputs, log);
  Window& window = Window::current();
  const Tracing tracing(window);
  recorder.run(function);

  DisposalPause pause;
  OwnerLock::Hold hold(window.lock, &current_thread());
  const Region& region = recorder.select(window);
  std::unique_ptr<Recording> recording = recorder.recording();
  if (!region.items.empty()) {
    recording->configuration = region.device->backend->configuration();
    const Arrangement planned = make_plan(region, &recording->plan);
    explanation_ = explain_region(region, planned);
    explanation_dot_ = explain_region_dot(region, planned);
  }
  return recording;
}

}  // namespace mt
