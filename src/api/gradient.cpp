// SPDX-License-Identifier: Apache-2.0
// The C functions of mtorch/tape.h on gradients.
#include "mtorch/tape.h"

#include "api/guard.h"
#include "autodiff/backward.h"
#include "graph/modes.h"
#include "ops/ops.h"

using namespace mt;
using namespace mt::api;

namespace {

// The leaf's collected gradient, if the tensor is or was such a leaf.
Variable* variable_of(mt_tensor* leaf) {
  required(leaf, "the tensor");
  return leaf->variable ? leaf->variable.get() : leaf->peek()->variable.get();
}

void set_gradient(mt_tensor* leaf, mt_tensor* given) {
  Variable* variable = variable_of(leaf);
  if (!variable) {
    fail(Code::invalid, "set_gradient: the tensor is not a leaf that requires a gradient");
  }
  if (!given) return variable->gradient.set(nullptr);
  Tensor gradient = value(given);
  Tensor x = leaf->peek();
  if (gradient.shape() != x.shape()) {
    fail(Code::shape, "set_gradient: a gradient of shape %s for a tensor of shape %s",
         to_string(gradient.shape()).c_str(), to_string(x.shape()).c_str());
  }
  if (gradient.dtype() != x.dtype()) {
    fail(Code::dtype, "set_gradient: a gradient of %s for a tensor of %s",
         name_of(gradient.dtype()), name_of(x.dtype()));
  }
  if (&gradient.device() != &x.device()) {
    fail(Code::device, "set_gradient: a gradient on %s for a tensor on %s",
         gradient.device().name.c_str(), x.device().name.c_str());
  }
  variable->gradient.set(std::move(gradient));
}

std::vector<Tensor> pure_gradients(mt_tensor* const* outputs, size_t noutputs,
                                   mt_tensor* const* inputs, size_t ninputs,
                                   mt_tensor* const* output_gradients) {
  std::vector<Tensor> results = values(outputs, noutputs), wanted = values(inputs, ninputs), seeds;
  for (size_t i = 0; i < noutputs; ++i) {
    mt_tensor* given = output_gradients ? output_gradients[i] : nullptr;
    seeds.push_back(given ? value(given) : ones_like(results[i]));
  }
  for (size_t i = 0; i < ninputs; ++i) {
    if (!wanted[i].requires_gradient()) {
      fail(Code::no_gradient, "grad: input %zu, %s%s, does not require a gradient", i,
           wanted[i]->op->name, to_string(wanted[i].shape()).c_str());
    }
  }
  std::vector<Tensor> found = gradients(results, seeds, wanted);
  for (size_t i = 0; i < ninputs; ++i) {
    if (!found[i]) found[i] = zeros_like(wanted[i]);
  }
  return found;
}

}  // namespace

mt_tensor* mt_require_grad(mt_tensor* leaf) {
  return read<mt_tensor*>("require_grad", nullptr, [&] {
    set_requires_gradient(required(leaf, "the tensor"), true);
    return leaf;
  });
}

mt_status mt_set_requires_grad(mt_tensor* leaf, bool require) {
  return change("set_requires_grad",
                [&] { set_requires_gradient(required(leaf, "the tensor"), require); });
}

bool mt_requires_grad(mt_tensor* tensor) {
  return read<bool>("requires_grad", false,
                    [&] { return required(tensor, "the tensor")->peek().requires_gradient(); });
}

bool mt_is_leaf(mt_tensor* tensor) {
  return read<bool>("is_leaf", false,
                    [&] { return !has_history(required(tensor, "the tensor")->peek()); });
}

mt_tensor* mt_detach(mt_tensor* x) {
  return give("detach", [&] {
    Tensor source = value(x);
    return source.requires_gradient() ? detach(source) : source;
  });
}

mt_status mt_backward(mt_tensor* loss) {
  return change("backward", [&] { backward(value(loss), nullptr, false); });
}

mt_status mt_backward_with(mt_tensor* output, mt_tensor* gradient,
                           const mt_backward_options* given) {
  return change("backward_with", [&] {
    mt_backward_options chosen = options(given, MT_BACKWARD_OPTIONS_INIT);
    Tensor y = value(output);
    Tensor seed = gradient ? value(gradient) : ones_like(y);
    backward(y, seed, chosen.retain, chosen.differentiable);
  });
}

mt_tensor* mt_gradient(mt_tensor* leaf) {
  return read<mt_tensor*>("gradient", nullptr, [&]() -> mt_tensor* {
    Variable* variable = variable_of(leaf);
    Tensor gradient = variable ? variable->gradient.get() : Tensor();
    return gradient ? new_handle(std::move(gradient)) : nullptr;
  });
}

mt_status mt_set_gradient(mt_tensor* leaf, mt_tensor* gradient) {
  return change("set_gradient", [&] { set_gradient(leaf, gradient); });
}

mt_status mt_zero_grad(mt_tensor* const* params, size_t n) {
  return change("zero_grad", [&] {
    if (n) required(params, "the array of tensors");
    for (size_t i = 0; i < n; ++i) required(params[i], "a tensor");
    for (size_t i = 0; i < n; ++i) {
      if (Variable* variable = variable_of(params[i])) variable->gradient.set(nullptr);
    }
  });
}

mt_status mt_grad(mt_tensor* const* outputs, size_t noutputs, mt_tensor* const* inputs,
                  size_t ninputs, mt_tensor* const* output_gradients, mt_tensor** results) {
  return give_all("grad", results, ninputs, [&] {
    return pure_gradients(outputs, noutputs, inputs, ninputs, output_gradients);
  });
}

bool mt_grad_mode(void) { return gradient_mode(); }

bool mt_set_grad_mode(bool record) {
  bool previous = gradient_mode();
  set_gradient_mode(record);
  return previous;
}

// 1 and 2 rather than 0 and 1: 0 ends MT_NO_GRAD's loop.
int mt_no_grad_begin(void) { return mt_set_grad_mode(false) ? 2 : 1; }

int mt_no_grad_end(int previous) {
  if (previous == 1 || previous == 2) set_gradient_mode(previous == 2);
  return 0;
}
