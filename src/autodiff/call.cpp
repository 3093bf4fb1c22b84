// SPDX-License-Identifier: Apache-2.0
#include "autodiff/call.h"

#include "autodiff/backward.h"
#include "graph/named_operators.h"
#include "graph/trace_log.h"
#include "graph/window.h"
#include "ops/ops.h"

namespace mt {
namespace {

Call& call_of(const Node& node) { return *static_cast<Call*>(node.storage->data()); }

void call_gradient(const Node& node, const Tensor&, Tensor* gradients) {
  CallGradients arrived = std::move(gradients_of_call(&node));
  std::vector<Tensor> found = call_of(node).gradient(node, arrived.results, arrived.gradients);
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i].requires_gradient()) gradients[i] = found[i];
  }
}

Tensor call_again(const Node& node, const Tensor* inputs) {
  return call_of(node).again(node, std::vector<Tensor>(inputs, inputs + node.inputs.size()));
}

const Op& call_op(const char* name) {
  static auto* calls = new NamedOperators({
      .name = nullptr,
      .kind = OpKind::leaf,
      .gradient = call_gradient,
      .record_again = call_again,
  });
  return calls->find_or_add(name);
}

// Attribute: which result. Inputs: the call; or the value, if it is part of the graph, followed by
// the call if a gradient passes.
void result_gradient(const Node& node, const Tensor& dy, Tensor* gradients) {
  const size_t last = node.inputs.size() - 1, index = static_cast<size_t>(node.attributes[0]);
  const Tensor& call = node.inputs[last];
  CallGradients& arrived = gradients_of_call(call.node());
  size_t count = call_of(*call.node()).values().size();
  arrived.results.resize(count);
  arrived.gradients.resize(count);
  arrived.results[index] = Tensor(const_cast<Node*>(&node));
  arrived.gradients[index] = dy;
  gradients[last] = zeros_like(call);  // so that the walk visits the call
}

Tensor result_again(const Node& node, const Tensor* inputs) {
  if (node.inputs[0]->op->record_again != call_again) return alias(inputs[0]);  // it is the value
  size_t index = node.attributes[0];
  return call_result(inputs[0], call_of(*inputs[0].node()).values()[index], index, false);
}

const Op result_op{
    .name = "result",
    .kind = OpKind::view,
    .gradient = result_gradient,
    .record_again = result_again,
};

}  // namespace

Tensor record_call(const char* name, std::unique_ptr<Call> call, Inputs inputs, Device& device) {
  Call* kept = call.get();
  Ref<Storage> storage = Storage::borrow(
      device, kept, 0, [](void* user) { delete static_cast<Call*>(user); }, kept);
  call.release();
  return record_value(call_op(name), std::move(storage), Dtype::float32, contiguous_layout({0}),
                      std::move(inputs));
}

Tensor call_result(const Tensor& call, const Tensor& value, size_t index, bool is_recorded) {
  Attributes attributes{static_cast<int64_t>(index)};
  if (value->ready() && !is_recorded && !TraceLog::current()) {
    return record_value(result_op, value->storage, value.dtype(), value->layout(), {call},
                        attributes);
  }
  Tensor result = record_view(result_op, value, view_layout(value), attributes);
  if (call.requires_gradient() && is_floating(value.dtype())) {
    Thread& thread = current_thread();  // other threads may be evaluating the window
    OwnerLock::Hold hold(Window::current(thread).lock, &thread);
    result->inputs.push_back(call);
    result->requires_gradient = result->keeps_inputs = true;
  }
  return result;
}

}  // namespace mt
