// SPDX-License-Identifier: Apache-2.0
#include "nn/parameters.h"

#include "backends/transfer.h"
#include "base/error.h"
#include "graph/evaluate.h"
#include "graph/modes.h"
#include "io/safetensors.h"
#include "nn/match_names.h"
#include "ops/ops.h"

namespace mt {

Tensor Layer::attend(const Tensor&, const Tensor&, const Tensor&, const Tensor&) {
  fail(Code::invalid, "apply_attention: a layer without attention");
}

Layer::Run Layer::run(const Tensor&, const Tensor&, const Tensor&) {
  fail(Code::invalid, "apply_recurrent: a layer that is not recurrent");
}

Layer::Continued Layer::proceed(const Tensor&, const Tensor&, const Tensor&) {
  fail(Code::invalid, "apply_kept: a layer without attention keeps nothing");
}

Tensor Layer::kept_zeros(const Shape&, int64_t) {
  fail(Code::invalid, "kept_zeros: a layer without attention keeps nothing");
}

const Parameters::Entry* Parameters::find(const std::string& name) const {
  auto found = index_.find(name);
  return found == index_.end() ? nullptr : &entries_[found->second];
}

void Parameters::check_new(const std::string& name) const {
  if (name.empty()) fail(Code::invalid, "parameters: a tensor's name must not be empty");
  if (find(name)) fail(Code::invalid, "parameters: the name \"%s\" is taken", name.c_str());
  check_name(name, "parameters");
}

bool Parameters::is_bound_before(const Binding& binding, size_t count) const {
  for (size_t i = 0; i < count; ++i) {
    const Entry& entry = entries_[i];
    if (!entry.is_buffer && entry.binding->place() == binding.place()) return true;
  }
  return false;
}

void Parameters::find_repeats() {
  for (size_t i = 0; i < entries_.size(); ++i) {
    entries_[i].repeats = is_bound_before(*entries_[i].binding, i);
  }
}

Binding& Parameters::add(const std::string& name, std::unique_ptr<Binding> binding,
                         bool is_buffer) {
  check_new(name);
  const size_t before = entries_.size();
  index_.emplace(name, before);
  try {
    entries_.push_back({name, std::move(binding), is_buffer});
    Entry& added = entries_.back();
    added.repeats = is_bound_before(*added.binding, before);
    if (!is_buffer) added.binding->require_gradient();  // last: the tensor is somebody's
  } catch (...) {
    if (entries_.size() > before) entries_.pop_back();
    index_.erase(name);
    throw;
  }
  return *entries_.back().binding;
}

Binding& Parameters::create(const std::string& name, Tensor value, bool is_buffer) {
  return add(name, make_(std::move(value)), is_buffer);
}

Layer& Parameters::add_layer(std::unique_ptr<Layer> layer) {
  layers_.push_back(std::move(layer));
  return *layers_.back();
}

void Parameters::keep_first(size_t entries, size_t layers) {
  while (layers_.size() > layers) layers_.pop_back();
  for (; entries_.size() > entries; entries_.pop_back()) index_.erase(entries_.back().name);
}

void Parameters::zero_gradients() {
  for (const Entry& entry : entries_) {
    if (!entry.is_buffer) entry.binding->set_gradient(nullptr);
  }
}

void Parameters::convert(const Dtype* type, Device* target) {
  GradientMode no_gradient(false);
  auto converted = [&](const Tensor& x) {
    if (!x) return x;
    Tensor y = type && is_floating(x.dtype()) ? cast(x, *type) : x;
    return target ? to_device(y, *target) : y;
  };
  std::vector<Tensor> values;
  for (const Entry& entry : entries_) {
    values.push_back(converted(entry.binding->value()));
    values.push_back(converted(entry.binding->gradient()));
  }
  evaluate(values.data(), values.size());
  // From here on nothing can fail.
  for (size_t i = 0; i < entries_.size(); ++i) {
    Binding& binding = *entries_[i].binding;
    Tensor value = std::move(values[2 * i]), gradient = std::move(values[2 * i + 1]);
    if (value.node() != binding.value().node()) binding.bind(std::move(value));
    if (gradient) binding.set_gradient(std::move(gradient));
  }
  if (type) dtype = *type;
  if (target) device = *target;
}

std::vector<NamedTensor> Parameters::tensors() const {
  std::vector<NamedTensor> tensors;
  for (const Entry& entry : entries_) tensors.push_back({entry.name, entry.binding->value()});
  return tensors;
}

void Parameters::save(const char* path) const { save_safetensors(tensors(), {}, path); }

void Parameters::load(const char* path) {
  Safetensors file(path);
  std::vector<Tensor> values;
  for (size_t found :
       match_names(forms_of(tensors()), "collection", forms_of(file), path, Code::io)) {
    const Tensor own = entries_[values.size()].binding->value();
    values.push_back(file.read(file.entries()[found], own.device()));
  }
  for (size_t i = 0; i < entries_.size(); ++i) entries_[i].binding->bind(std::move(values[i]));
}

}  // namespace mt
