// SPDX-License-Identifier: Apache-2.0
#include "nn/optimizer.h"

#include <algorithm>
#include <cmath>

#include "graph/evaluate.h"
#include "graph/record.h"
#include "graph/window.h"
#include "io/host.h"
#include "io/safetensors.h"
#include "ops/ops.h"
#include "tensor/error.h"

namespace mt {
namespace {

void check_rate(double rate) {
  if (!(std::isfinite(rate) && rate >= 0)) {
    fail(Code::invalid, "optimizer: a learning rate of %g is not finite and >= 0", rate);
  }
}

Tensor scalar(double value, Device& device) {
  return from_host(&value, Dtype::float64, {}, device);
}

// State exists as memory from the start: the first step plans like all others, and a trace that
// comes upon a parameter finds there what each replay has to read.
Tensor filled(const Tensor& like, double value) {
  Dtype dtype = accumulator_of(like.dtype());
  HostBuffer buffer("optimizer", dtype, like.shape(), like.device());
  size_t count = static_cast<size_t>(like.size());
  if (dtype == Dtype::float64) {
    std::fill_n(static_cast<double*>(buffer.data()), count, value);
  } else {
    std::fill_n(static_cast<float*>(buffer.data()), count, static_cast<float>(value));
  }
  return buffer.take();
}

// A pending gradient that is recorded together with its use need not pass through memory; below
// this size a parameter, recording costs more than that.
constexpr int64_t small_gradient = 64 * 1024;

bool is_trained(const Parameters::Entry& entry) {
  return !entry.is_buffer && entry.binding->requires_gradient();
}

// Whether a step had better be replayed than recorded anew: unless somebody watches what is
// recorded, or the gradients are still to be computed and large.
bool replay_pays(const Parameters& parameters) {
  Thread& thread = current_thread();
  if (thread.trace || !Window::current(thread).tapes.empty() || eager_mode()) return false;
  int64_t pending = 0, allowed = 0;
  for (const Parameters::Entry& entry : parameters.entries()) {
    Tensor gradient = is_trained(entry) ? entry.binding->gradient() : nullptr;
    if (!gradient) continue;
    allowed += small_gradient;
    if (!gradient->ready()) pending += gradient->bytes();
  }
  return pending <= allowed;
}

double read_scalar(const StateSlot& slot) {
  return *static_cast<const double*>(HostValue(slot.get()).data());
}

}  // namespace

Numbers::Numbers(Dtype dtype, Device& device, const std::vector<Tensor>& shared)
    : dtype_(dtype), device_(device) {
  for (const Tensor& tensor : shared) shared_.push_back(cast(tensor, dtype));
}

const Tensor& Numbers::operator()(double value) {
  for (const Constant& known : constants_) {
    if (known.value == value) return known.tensor;
  }
  constants_.push_back({value, full({}, value, dtype_, device_)});
  return constants_.back().tensor;
}

Optimizer::Optimizer(Ref<Parameters> parameters, double rate, std::unique_ptr<Rule> rule)
    : parameters_(std::move(parameters)), rule_(std::move(rule)) {
  check_rate(rate);
  GradientMode no_gradient(false);
  rate_.set(scalar(rate, parameters_->device));
  step_.set(scalar(0, parameters_->device));
  for (const Parameters::Entry& entry : parameters_->entries()) slots_of(entry);
}

const Optimizer::Slots& Optimizer::slots_of(const Parameters::Entry& entry) {
  Slots& slots = slots_[entry.binding.get()];
  if (!slots.empty() || entry.is_buffer) return slots;
  TraceLog::Recording unheard(nullptr);
  for (const Rule::StateKind& kind : rule_->states()) {
    slots.push_back(std::make_unique<StateSlot>(filled(entry.binding->value(), kind.initial)));
  }
  return slots;
}

std::vector<const Binding*> Optimizer::trained() const {
  std::vector<const Binding*> result;
  for (const Parameters::Entry& entry : parameters_->entries()) {
    if (is_trained(entry)) result.push_back(entry.binding.get());
  }
  return result;
}

// Hundreds of updates record thousands of operators, the same ones at every step.
void Optimizer::step() {
  if (!replay_pays(*parameters_)) return record_step();
  std::vector<const Binding*> trains = trained();
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

void Optimizer::record_step() {
  GradientMode no_gradient(false);
  struct Update {
    Binding* binding;
    const Slots* slots;
    Tensor weight;
    std::vector<Tensor> states;
  };
  Tensor step = step_.get() + 1.0;
  std::vector<Tensor> shared = rule_->shared(rate_.get(), step);
  Numbers in_single(Dtype::float32, parameters_->device, shared);
  Numbers in_double(Dtype::float64, parameters_->device, shared);
  std::vector<Update> updates;
  for (const Parameters::Entry& entry : parameters_->entries()) {
    if (!is_trained(entry)) continue;
    Tensor gradient = entry.binding->gradient();
    if (!gradient) continue;
    Tensor weight = entry.binding->value();
    if (&weight.device() != &parameters_->device) {
      fail(Code::device, "optimizer: \"%s\" lies on %s, the collection on %s", entry.name.c_str(),
           weight.device().name.c_str(), parameters_->device.name.c_str());
    }
    // 16-bit floats are updated in float32 and rounded once.
    Dtype own = weight.dtype(), working = accumulator_of(own);
    Numbers& numbers = working == Dtype::float64 ? in_double : in_single;
    Update update{entry.binding.get(), &slots_of(entry), nullptr, {}};
    for (const auto& slot : *update.slots) update.states.push_back(slot->get());
    update.weight =
        cast(rule_->update(cast(weight, working), cast(gradient, working), numbers, &update.states),
             own);
    updates.push_back(std::move(update));
  }
  // Nothing has changed so far; from here on nothing can fail.
  for (Update& update : updates) {
    update.binding->bind(std::move(update.weight));
    for (size_t i = 0; i < update.states.size(); ++i) {
      (*update.slots)[i]->set(std::move(update.states[i]));
    }
  }
  step_.set(std::move(step));
}

int64_t Optimizer::steps() const { return static_cast<int64_t>(read_scalar(step_)); }
double Optimizer::learning_rate() const { return read_scalar(rate_); }

void Optimizer::set_learning_rate(double rate) {
  check_rate(rate);
  rate_.set(scalar(rate, parameters_->device));
}

// Every piece of state with its name in a file.
std::vector<std::pair<std::string, StateSlot*>> Optimizer::named_state() const {
  std::vector<std::pair<std::string, StateSlot*>> named;
  named.emplace_back("step", const_cast<StateSlot*>(&step_));
  named.emplace_back("learning_rate", const_cast<StateSlot*>(&rate_));
  std::vector<Rule::StateKind> kinds = rule_->states();
  for (const Parameters::Entry& entry : parameters_->entries()) {
    auto found = slots_.find(entry.binding.get());
    if (found == slots_.end()) continue;
    for (size_t i = 0; i < found->second.size(); ++i) {
      named.emplace_back(std::string(kinds[i].name) + '.' + entry.name, found->second[i].get());
    }
  }
  return named;
}

void Optimizer::save(const char* path) const {
  std::vector<NamedTensor> tensors;
  for (const auto& [name, slot] : named_state()) tensors.push_back({name, slot->get()});
  save_safetensors(tensors, {{"rule", rule_->name()}}, path);
}

void Optimizer::load(const char* path) {
  for (const Parameters::Entry& entry : parameters_->entries()) slots_of(entry);
  Safetensors file(path);
  std::string rule = "none";
  for (const auto& [key, value] : file.metadata()) {
    if (key == "rule") rule = value;
  }
  if (rule != rule_->name()) {
    fail(Code::io, "%s: holds the state of rule %.40s, the optimizer's is %s", path, rule.c_str(),
         rule_->name());
  }
  auto named = named_state();
  std::unordered_map<std::string, const Safetensors::Entry*> sources;
  for (const Safetensors::Entry& source : file.entries()) sources[source.name] = &source;
  std::vector<Tensor> values;
  for (const auto& [name, slot] : named) {
    auto found = sources.find(name);
    if (found == sources.end()) fail(Code::io, "%s: has no \"%s\"", path, name.c_str());
    const Safetensors::Entry& source = *found->second;
    const Tensor& own = slot->get();
    if (source.shape != own.shape() || source.dtype != own.dtype()) {
      fail(Code::io, "%s: \"%s\" is %s%s, the optimizer's is %s%s", path, name.c_str(),
           name_of(source.dtype), to_string(source.shape).c_str(), name_of(own.dtype()),
           to_string(own.shape()).c_str());
    }
    values.push_back(file.read(source, own.device()));
    sources.erase(found);
  }
  if (!sources.empty()) {
    fail(Code::io, "%s: holds \"%s\", which the optimizer does not have", path,
         sources.begin()->first.c_str());
  }
  double rate = *static_cast<const double*>(HostValue(values[1]).data());
  check_rate(rate);
  for (size_t i = 0; i < named.size(); ++i) named[i].second->set(std::move(values[i]));
}

}  // namespace mt
