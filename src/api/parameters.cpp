// SPDX-License-Identifier: Apache-2.0
// The C functions of mtorch/nn.h on collections of parameters.
#include "api/parameters.h"

#include "api/guard.h"
#include "api/scope.h"
#include "backends/devices.h"

namespace mt::api {

Tensor HandleBinding::value() const { return api::value(handle()); }

Tensor HandleBinding::gradient() const {
  return handle()->variable ? handle()->variable->gradient.get() : Tensor();
}

void HandleBinding::set_gradient(Tensor gradient) {
  if (handle()->variable) handle()->variable->gradient.set(std::move(gradient));
}

std::unique_ptr<Binding> new_binding(Tensor value) {
  mt_tensor* handle = new_handle(std::move(value));
  leave_scope(handle, current_thread());
  auto release_ours = [](mt_tensor* ours) { release(ours); };
  std::unique_ptr<mt_tensor, decltype(release_ours)> ours(handle);
  return std::make_unique<HandleBinding>(handle);
}

Parameters& collection(mt_parameters* parameters) {
  return *required(parameters, "the collection of parameters")->collection;
}

mt_parameters* new_parameters(Dtype dtype, Device& device) {
  return new mt_parameters{Ref<Parameters>(new Parameters(dtype, device, new_binding))};
}

mt_parameters* new_parameters(std::vector<NamedTensor> values) {
  Device& device = values.empty() ? find_device(nullptr) : values[0].value.device();
  std::unique_ptr<mt_parameters> result(new_parameters(Dtype::float32, device));
  for (NamedTensor& named : values) {
    result->collection->create(named.name, std::move(named.value), true);
  }
  return result.release();
}

namespace {

const Parameters::Entry& entry(mt_parameters* parameters, size_t i) {
  const auto& entries = collection(parameters).entries();
  if (i >= entries.size()) {
    throw ArgumentError(Code::index, "tensor " + std::to_string(i) + " of " +
                                         std::to_string(entries.size()) + " does not exist");
  }
  return entries[i];
}

const Parameters::Entry& named(const Parameters& parameters, const char* name) {
  const Parameters::Entry* found = parameters.find(required(name, "the name"));
  if (!found) throw ArgumentError(Code::invalid, std::string("there is no \"") + name + '"');
  return *found;
}

mt_tensor* handle_of(const Parameters::Entry& entry) {
  return static_cast<HandleBinding&>(*entry.binding).handle();
}

void add(mt_parameters* parameters, const char* name, mt_tensor* tensor, bool is_buffer) {
  Parameters& target = collection(parameters);
  required(name, "the name");
  auto binding = std::make_unique<HandleBinding>(required(tensor, "the tensor"));
  target.add(name, std::move(binding), is_buffer);
}

}  // namespace
}  // namespace mt::api

using namespace mt;
using namespace mt::api;

mt_parameters* mt_parameters_new(mt_dtype code, const char* device) {
  return read<mt_parameters*>("parameters_new", nullptr, [&] {
    Dtype type = dtype(code);
    if (!is_floating(type)) {
      throw ArgumentError(Code::dtype, std::string("needs a float, got ") + name_of(type));
    }
    return new_parameters(type, find_device(device));
  });
}

void mt_parameters_release(mt_parameters* parameters) { delete parameters; }

mt_status mt_parameters_add(mt_parameters* parameters, const char* name, mt_tensor* tensor) {
  return change("parameters_add", [&] { add(parameters, name, tensor, false); });
}

mt_status mt_parameters_add_buffer(mt_parameters* parameters, const char* name, mt_tensor* tensor) {
  return change("parameters_add_buffer", [&] { add(parameters, name, tensor, true); });
}

mt_status mt_parameters_share(mt_parameters* parameters, const char* name, mt_tensor* tensor) {
  return change("parameters_share", [&] {
    Parameters& target = collection(parameters);
    const Parameters::Entry& place = named(target, name);
    const Shape shape = required(tensor, "the tensor")->peek().shape();
    if (shape != place.binding->value().shape()) {
      fail(Code::shape, "parameters_share: a tensor of shape %s for \"%s\" of shape %s",
           to_string(shape).c_str(), name, to_string(place.binding->value().shape()).c_str());
    }
    if (!place.is_buffer) set_requires_gradient(tensor, true);
    static_cast<HandleBinding&>(*place.binding).take(tensor);
    target.find_repeats();
  });
}

size_t mt_parameters_count(mt_parameters* parameters) {
  return read<size_t>("parameters_count", 0,
                      [&] { return collection(parameters).entries().size(); });
}

const char* mt_parameters_name(mt_parameters* parameters, size_t i) {
  return read<const char*>("parameters_name", nullptr,
                           [&] { return entry(parameters, i).name.c_str(); });
}

mt_tensor* mt_parameters_tensor(mt_parameters* parameters, size_t i) {
  return read<mt_tensor*>("parameters_tensor", nullptr,
                          [&] { return handle_of(entry(parameters, i)); });
}

mt_tensor* mt_parameters_get(mt_parameters* parameters, const char* name) {
  return read<mt_tensor*>("parameters_get", nullptr,
                          [&] { return handle_of(named(collection(parameters), name)); });
}

bool mt_parameters_is_buffer(mt_parameters* parameters, size_t i) {
  return read<bool>("parameters_is_buffer", false, [&] { return entry(parameters, i).is_buffer; });
}

bool mt_parameters_has(mt_parameters* parameters, const char* name) {
  return read<bool>("parameters_has", false, [&] {
    return collection(parameters).find(required(name, "the name")) != nullptr;
  });
}

bool mt_parameters_training(mt_parameters* parameters) {
  return read<bool>("parameters_training", false,
                    [&] { return collection(parameters).training.on(); });
}

mt_status mt_parameters_set_training(mt_parameters* parameters, bool training) {
  return change("parameters_set_training", [&] { collection(parameters).training.set(training); });
}

mt_status mt_parameters_to(mt_parameters* parameters, mt_dtype code, const char* device) {
  return change("parameters_to", [&] {
    Parameters& target = collection(parameters);
    Dtype type = code ? dtype(code) : target.dtype;
    if (!is_floating(type)) {
      throw ArgumentError(Code::dtype, std::string("needs a float, got ") + name_of(type));
    }
    target.convert(code ? &type : nullptr, device ? &find_device(device) : nullptr);
  });
}

mt_status mt_parameters_zero_grad(mt_parameters* parameters) {
  return change("parameters_zero_grad", [&] { collection(parameters).zero_gradients(); });
}

mt_status mt_parameters_save(mt_parameters* parameters, const char* path) {
  return change("parameters_save",
                [&] { collection(parameters).save(required(path, "the path")); });
}

mt_status mt_parameters_load(mt_parameters* parameters, const char* path) {
  return change("parameters_load",
                [&] { collection(parameters).load(required(path, "the path")); });
}
