// SPDX-License-Identifier: Apache-2.0
// What an optimizer keeps from step to step: in the form of its parameters, by name, in files.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "backends/transfer.h"
#include "base/error.h"
#include "graph/evaluate.h"
#include "graph/modes.h"
#include "io/host.h"
#include "nn/match_names.h"
#include "nn/optimizer.h"
#include "ops/ops.h"

namespace mt {
namespace {

// State exists as memory from the start: the first step plans like all others, and a trace that
// comes upon a parameter finds there what each replay has to read.
Tensor filled(const Tensor& like, const Shape& shape, double value) {
  Dtype dtype = accumulator_of(like.dtype());
  HostBuffer buffer("optimizer", dtype, shape, like.device());
  size_t count = element_count(shape);
  if (dtype == Dtype::float64) {
    std::fill_n(static_cast<double*>(buffer.data()), count, value);
  } else {
    std::fill_n(static_cast<float*>(buffer.data()), count, static_cast<float>(value));
  }
  return buffer.take();
}

// Brings state to the type and the device that a parameter has been converted to. By way of the
// host, so that nothing is recorded: a trace finds it as memory.
void follow(StateSlot* slot, Dtype dtype, Device& device) {
  Tensor state = slot->get();
  if (state.dtype() == dtype && &state.device() == &device) return;
  const HostArray before = contiguous_host_array(state);
  HostBuffer after("optimizer", dtype, state.shape(), device);
  size_t count = state.size();
  if (state.dtype() == dtype) {
    std::memcpy(after.data(), before.data(), after.bytes());
  } else if (dtype == Dtype::float64) {
    std::copy_n(static_cast<const float*>(before.data()), count,
                static_cast<double*>(after.data()));
  } else {
    std::copy_n(static_cast<const double*>(before.data()), count,
                static_cast<float*>(after.data()));
  }
  slot->set(after.take());
}

double read_scalar(const Tensor& value) {
  return *static_cast<const double*>(contiguous_host_array(value).data());
}

}  // namespace

// What a parameter keeps, in the type of its value at least.
const Optimizer::Slots& Optimizer::slots_of(const Parameters::Entry& entry) {
  Slots& slots = slots_[entry.binding.get()];
  if (entry.is_buffer) return slots;
  TraceLog::Current none(nullptr);
  Tensor weight = entry.binding->value();
  std::vector<Rule::StateKind> kinds = rule_->states();
  for (size_t i = slots.size(); i < kinds.size(); ++i) {
    const Shape shape = kinds[i].is_number ? Shape() : weight.shape();
    slots.push_back(std::make_unique<StateSlot>(filled(weight, shape, kinds[i].initial)));
  }
  Dtype dtype = accumulator_of(weight.dtype());
  for (const auto& slot : slots) follow(slot.get(), dtype, weight.device());
  return slots;
}

void Optimizer::follow_numbers(Device& device) {
  TraceLog::Current none(nullptr);
  follow(&step_, Dtype::float64, device);
  follow(&rate_, Dtype::float64, device);
}

int64_t Optimizer::steps() const { return static_cast<int64_t>(read_scalar(step_.get())); }
double Optimizer::learning_rate() const { return read_scalar(rate_.get()); }

// Every piece of state with its name; first, of each part, the step, the rate and its proportion.
std::vector<Optimizer::NamedSlot> Optimizer::named_slots() {
  std::vector<Part> all = parts();
  check_apart(all);
  std::vector<NamedSlot> named;
  for (size_t i = 0; i < all.size(); ++i) {
    std::string group = i == 0 ? "" : '.' + std::to_string(i);
    named.push_back({"step" + group, &all[i].optimizer->step_});
    named.push_back({"learning_rate" + group, &all[i].optimizer->rate_});
    if (!all[i].group) continue;
    double proportion = all[i].lead->proportion_of(*all[i].group);
    TraceLog::Current none(nullptr);
    StateSlot& written = all[i].group->written;
    written.set(from_host(&proportion, Dtype::float64, {}, all[i].optimizer->parameters_->device));
    named.push_back({"proportion" + group, &written});
  }
  for (const Part& part : all) {
    std::vector<Rule::StateKind> kinds = part.optimizer->rule_->states();
    for (const Parameters::Entry& entry : part.optimizer->parameters_->entries()) {
      const Slots& slots = part.optimizer->slots_of(entry);
      for (size_t i = 0; i < slots.size(); ++i) {
        named.push_back({std::string(kinds[i].name) + '.' + entry.name, slots[i].get()});
      }
    }
  }
  return named;
}

std::string Optimizer::rules() {
  std::string names;
  for (const Part& part : parts()) {
    if (!names.empty()) names += '+';
    names += part.optimizer->rule_->name();
  }
  return names;
}

std::vector<NamedTensor> Optimizer::values_of(const std::vector<NamedSlot>& slots) {
  std::vector<NamedTensor> result;
  for (const NamedSlot& named : slots) result.push_back({named.name, named.slot->get()});
  return result;
}

std::vector<NamedTensor> Optimizer::state() {
  GradientMode no_gradient(false);
  std::vector<NamedTensor> result = values_of(named_slots());
  std::vector<Tensor> values;
  for (const NamedTensor& named : result) values.push_back(named.value);
  evaluate(values.data(), values.size());
  return result;
}

void Optimizer::bind_state(const std::vector<NamedSlot>& slots, std::vector<Tensor> values) {
  evaluate(values.data(), values.size());
  std::vector<NewRate> rates;
  size_t at = 0;
  for (const Part& part : parts()) {
    double step = read_scalar(values[at++]), rate = read_scalar(values[at++]);
    if (!(step >= 0 && step < 0x1p53 && step == std::floor(step))) {
      fail(Code::invalid, "optimizer: %g is no number of steps", step);
    }
    check_rate(rate);
    double proportion = part.group ? read_scalar(values[at++]) : 1;
    if (!(proportion >= 0)) {
      fail(Code::invalid, "optimizer: %g is no proportion of learning rates", proportion);
    }
    rates.push_back({part.optimizer, rate, part.group, proportion});
  }
  for (size_t i = 0; i < slots.size(); ++i) slots[i].slot->set(std::move(values[i]));
  for (const NewRate& part : rates) part.optimizer->note(part);
}

void Optimizer::set_state(const std::vector<NamedTensor>& given) {
  GradientMode no_gradient(false);
  std::vector<NamedSlot> slots = named_slots();
  std::vector<Tensor> values;
  const std::vector<NamedForm> own = forms_of(values_of(slots));
  for (size_t found :
       match_names(own, "optimizer", forms_of(given), "optimizer_set_state", Code::invalid)) {
    Device& device = slots[values.size()].slot->get().device();
    values.push_back(to_device(detach(given[found].value), device));
  }
  bind_state(slots, std::move(values));
}

void Optimizer::save(const char* path) { save_safetensors(state(), {{"rule", rules()}}, path); }

void Optimizer::load(const char* path) {
  Safetensors file(path);
  std::string rule = "none";
  for (const auto& [key, value] : file.metadata()) {
    if (key == "rule") rule = value;
  }
  if (rule != rules()) {
    fail(Code::io, "%s: holds the state of rule %.40s, the optimizer's is %.40s", path,
         rule.c_str(), rules().c_str());
  }
  std::vector<NamedSlot> slots = named_slots();
  std::vector<Tensor> values;
  const std::vector<NamedForm> own = forms_of(values_of(slots));
  for (size_t found : match_names(own, "optimizer", forms_of(file), path, Code::io)) {
    const Safetensors::Entry& source = file.entries()[found];
    values.push_back(file.read(source, slots[values.size()].slot->get().device()));
  }
  bind_state(slots, std::move(values));
}

}  // namespace mt
