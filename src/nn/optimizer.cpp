// SPDX-License-Identifier: Apache-2.0
#include "nn/optimizer.h"

#include "base/error.h"
#include "graph/modes.h"
#include "graph/window.h"
#include "io/host.h"
#include "ops/ops.h"

namespace mt {
namespace {

// A pending gradient that is recorded together with its use need not pass through memory; below
// this size a parameter, recording costs more than that.
constexpr int64_t small_gradient = 64 * 1024;

bool is_trained(const Parameters::Entry& entry) {
  return !entry.is_buffer && !entry.repeats && entry.binding->requires_gradient();
}

}  // namespace

Optimizer::Optimizer(Ref<Parameters> parameters, double rate, std::unique_ptr<Rule> rule)
    : parameters_(std::move(parameters)), rule_(std::move(rule)) {
  // Whether a replay is to begin anew or to go on, nobody has said.
  if (TraceLog::current())
    fail(Code::trace, "optimizer: none is made inside a trace; make it before");
  GradientMode no_gradient(false);
  double zero = 0;
  step_.set(from_host(&zero, Dtype::float64, {}, parameters_->device));
  rate_.set(step_.get());
  set_learning_rate(rate);
  for (const Parameters::Entry& entry : parameters_->entries()) slots_of(entry);
}

// Whether a step had better be replayed than recorded anew: unless somebody watches what is
// recorded, the gradients are still to be computed and large, or there are several devices, which a
// trace cannot have.
bool Optimizer::replay_pays(const std::vector<Part>& parts) {
  Thread& thread = current_thread();
  if (thread.trace || Window::current(thread).recording_tapes > 0 || eager_mode()) return false;
  int64_t pending = 0, allowed = 0;
  const Device* device = nullptr;
  for (const Part& part : parts) {
    const Device* own = nullptr;
    for (const Parameters::Entry& entry : part.optimizer->parameters_->entries()) {
      Tensor gradient = is_trained(entry) ? entry.binding->gradient() : nullptr;
      if (!gradient) continue;
      own = &gradient.device();
      allowed += small_gradient;
      if (!gradient->ready()) pending += gradient->bytes();
    }
    if (!own) own = &part.optimizer->step_.cell().peek().device();
    if (device && own != device) return false;
    device = own;
  }
  return pending <= allowed;
}

// Hundreds of updates record thousands of operators, the same ones at every step.
void Optimizer::step() {
  std::vector<Part> all = parts();
  if (!replay_pays(all)) return record_step();
  std::vector<const void*> trains;
  for (const Part& part : all) {
    for (const Parameters::Entry& entry : part.optimizer->parameters_->entries()) {
      if (is_trained(entry)) trains.push_back(entry.binding->place());
    }
  }
  if (!replay_ || replay_trains_ != trains) {
    replay_.emplace();
    replay_trains_ = std::move(trains);
  }
  auto run = [](void* self, const std::vector<Tensor>&) {
    static_cast<Optimizer*>(self)->record_step();
    return std::vector<Tensor>();
  };
  GradientMode no_gradient(false);
  replay_->call({}, {run, this, 0});
}

struct Optimizer::Advance {
  struct Update {
    const Parameters::Entry* entry;
    const Slots* slots;
    Tensor weight, gradient;
    std::vector<Tensor> states;
  };
  std::vector<Update> updates;
  Tensor step;
};

void Optimizer::record_step() {
  GradientMode no_gradient(false);
  std::vector<Part> all = parts();
  check_apart(all);
  std::vector<Advance> advances;
  for (const Part& part : all) advances.push_back(part.optimizer->advanced());
  // Nothing has changed so far; from here on nothing can fail.
  for (size_t i = 0; i < all.size(); ++i) all[i].optimizer->commit(std::move(advances[i]));
}

Optimizer::Advance Optimizer::advanced() {
  std::vector<Advance::Update> updates;
  for (const Parameters::Entry& entry : parameters_->entries()) {
    if (!is_trained(entry)) continue;
    Tensor gradient = entry.binding->gradient();
    if (!gradient) continue;
    updates.push_back({&entry, &slots_of(entry), entry.binding->value(), std::move(gradient), {}});
    Device &device = updates.back().weight.device(), &first = updates[0].weight.device();
    if (&device != &first) {
      fail(Code::device, "optimizer: \"%s\" lies on %s, \"%s\" on %s: each device needs a group",
           entry.name.c_str(), device.name.c_str(), updates[0].entry->name.c_str(),
           first.name.c_str());
    }
  }
  if (!updates.empty()) follow_numbers(updates[0].weight.device());
  Tensor step = step_.get() + 1.0, rate = rate_.get();
  std::vector<Tensor> shared = rule_->shared(rate, step);
  Numbers in_single(Dtype::float32, rate.device(), shared);
  Numbers in_double(Dtype::float64, rate.device(), shared);
  for (Advance::Update& update : updates) {
    // 16-bit floats are updated in float32 and rounded once.
    Dtype own = update.weight.dtype(), working = accumulator_of(own);
    Numbers& numbers = working == Dtype::float64 ? in_double : in_single;
    for (const auto& slot : *update.slots) update.states.push_back(slot->get());
    Tensor weight = rule_->update(cast(update.weight, working), cast(update.gradient, working),
                                  numbers, &update.states);
    update.weight = cast(weight, own);
  }
  return {std::move(updates), std::move(step)};
}

void Optimizer::commit(Advance advance) {
  for (Advance::Update& update : advance.updates) {
    update.entry->binding->bind(std::move(update.weight));
    for (size_t i = 0; i < update.states.size(); ++i) {
      (*update.slots)[i]->set(std::move(update.states[i]));
    }
  }
  step_.set(std::move(advance.step));
}

}  // namespace mt
