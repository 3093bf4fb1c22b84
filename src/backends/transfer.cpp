// SPDX-License-Identifier: Apache-2.0
#include "backends/transfer.h"

#include "backends/backend.h"
#include "backends/devices.h"
#include "base/error.h"
#include "graph/evaluate.h"
#include "graph/modes.h"
#include "graph/record.h"
#include "ops/ops.h"

namespace mt {
namespace {

void to_device_gradient(const Node& node, const Tensor& dy, Tensor* gradients) {
  gradients[0] = to_device(dy, node.inputs[0].device());
}
Tensor to_device_again(const Node& node, const Tensor* inputs) {
  return to_device(inputs[0], *node.device);
}
const Op to_device_op{
    .name = "to_device",
    .kind = OpKind::view,
    .gradient = to_device_gradient,
    .record_again = to_device_again,
};

Ref<Storage> allocate(Device& device, size_t bytes) {
  Ref<Storage> storage = Storage::allocate(device, bytes);
  if (!storage) fail_for_memory("to_device", device, bytes);
  return storage;
}

void transfer(void* target, Device& to, const void* source, Device& from, size_t bytes) {
  if (from.host_memory) {
    to.backend->copy_from_host(target, source, bytes);
  } else if (to.host_memory) {
    from.backend->copy_to_host(target, source, bytes);
  } else if (!to.backend->copy_from(*from.backend, target, source, bytes)) {
    Ref<Storage> between = allocate(find_device("cpu"), bytes);
    from.backend->copy_to_host(between->data(), source, bytes);
    to.backend->copy_from_host(target, between->data(), bytes);
  }
}

}  // namespace

Tensor to_device(const Tensor& x, Device& device) {
  if (&x.device() == &device) return x;
  evaluate(x);
  Tensor source = x;
  if (!is_contiguous(x->layout())) {
    GradientMode no_history(false);
    evaluate(source = copy(x));
  }
  size_t bytes = x->bytes();
  Ref<Storage> storage = allocate(device, bytes);
  if (bytes) transfer(storage->data(), device, source->data(), x.device(), bytes);
  return record_value(to_device_op, std::move(storage), x.dtype(), contiguous_layout(x.shape()),
                      {x});
}

}  // namespace mt
