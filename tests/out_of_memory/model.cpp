// SPDX-License-Identifier: Apache-2.0
#include "out_of_memory/model.h"

#include <cstring>

namespace mt::testing {

Numbers numbers_of(mt_tensor* tensor) {
  size_t bytes = static_cast<size_t>(mt_size(tensor)) * mt_dtype_size(mt_dtype_of(tensor));
  Numbers numbers(bytes / sizeof(float));  // of float64 the halves
  mt_copy_to_host(tensor, numbers.data(), bytes);
  return numbers;
}

bool same(const std::vector<Numbers>& a, const std::vector<Numbers>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].size() != b[i].size()) return false;
    if (!a[i].empty() && std::memcmp(a[i].data(), b[i].data(), 4 * a[i].size())) return false;
  }
  return true;
}

Model::Model() {
  scope_ = mt_scope_begin();
  mt_seed(7);
  parameters = mt_parameters_new(MT_F32, nullptr);
  optimizer_options.momentum = 0.9;
  for (int i = 0; i < 4; ++i) {
    const int64_t dims[4][2] = {{6, 8}, {8}, {8, 3}, {3}};
    w[i] = mt_normal(dims[i], i % 2 ? 1 : 2, 0, 0.5, MT_F32, nullptr);
    // With what it is called in a file, too long for a string without memory of its own.
    mt_parameters_add(parameters, ("parameter w" + std::to_string(i)).c_str(), w[i]);
  }
  optimizer = mt_optimizer_sgd(parameters, 0.1, &optimizer_options);
  x = mt_normal(MT_DIMS(5, 6), 0, 1, MT_F32, nullptr);
  y = mt_integers(MT_DIMS(5), 0, 3, MT_I64, nullptr);
  mt_eval(nullptr, 0);
  mt_tensor* inputs[] = {x, y};
  trace = mt_trace_new(step, this);
  // Gradients and moments are there already, so that a call that fails could spoil them.
  mt_backward(loss_of(inputs));
  mt_optimizer_step(optimizer);
  mt_eval(nullptr, 0);
}

Model::~Model() {
  mt_loader_release(loader);
  mt_parameters_release(kept);
  mt_trace_release(trace);
  mt_optimizer_release(optimizer);
  mt_parameters_release(parameters);
  mt_scope_end(scope_);
}

std::vector<Numbers> Model::state() {
  mt_scope* scope = mt_scope_begin();
  std::vector<Numbers> all;
  for (mt_tensor* weight : w) {
    all.push_back(numbers_of(weight));
    mt_tensor* gradient = mt_gradient(weight);
    all.push_back(gradient ? numbers_of(gradient) : Numbers());
  }
  uint64_t key = 0, counter = 0;
  mt_generator_state(nullptr, &key, &counter);
  all.push_back({static_cast<float>(mt_optimizer_steps(optimizer)), static_cast<float>(counter)});
  mt_parameters* moments = mt_optimizer_state(optimizer);
  for (const char* name : {"velocity.parameter w0", "velocity.parameter w3", "learning_rate"}) {
    all.push_back(numbers_of(mt_parameters_get(moments, name)));
  }
  all.push_back({static_cast<float>(mt_parameters_count(moments))});
  mt_parameters_release(moments);
  mt_scope_end(scope);
  return all;
}

std::vector<Numbers> Model::numbers_of_results() const {
  std::vector<Numbers> all;
  for (mt_tensor* result : results) {
    bool readable = result && mt_dtype_of(result) == MT_F32;
    all.push_back(readable ? numbers_of(result) : Numbers());
  }
  return all;
}

mt_tensor* Model::loss_of(mt_tensor* const* inputs) {
  mt_tensor* hidden = mt_relu(mt_add(mt_matmul(inputs[0], w[0]), w[1]));
  mt_tensor* out = mt_add(mt_matmul(mt_dropout(hidden, 0.25, true), w[2]), w[3]);
  return mt_cross_entropy(out, inputs[1], -1, MT_REDUCTION_MEAN);
}

mt_status Model::step(void* user, mt_tensor* const* inputs, size_t, mt_tensor** results, size_t) {
  Model& model = *static_cast<Model*>(user);
  mt_parameters_zero_grad(model.parameters);
  results[0] = model.loss_of(inputs);
  mt_backward(results[0]);
  mt_optimizer_step(model.optimizer);
  return mt_error();
}

}  // namespace mt::testing
