// SPDX-License-Identifier: Apache-2.0
#include "fusion/small_elementwise.h"

#include <new>
#include <string>

#include "backends/backend.h"
#include "base/before_work.h"
#include "fusion/profile.h"
#include "graph/window.h"

namespace mt {
namespace {

// Whether a ready node is contiguous and has this shape.
bool lies_as(const Node& node, const Shape& shape) {
  if (node.shape.rank() != shape.rank()) return false;
  int64_t stride = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    if (node.shape[i] != shape[i] || (shape[i] != 1 && node.strides[i] != stride)) return false;
    stride *= shape[i];
  }
  return true;
}

// Finds an operand of a small evaluation; `number` is room for a constant, which is not in memory.
bool find_operand(const Node& input, const Node& node, SmallOperand* operand, uint64_t* number) {
  if (input.dtype != node.dtype) return false;
  if (input.ready()) {
    operand->repeated = !lies_as(input, node.shape);
    if (operand->repeated && element_count(input.shape) != 1) return false;
    operand->data = static_cast<const char*>(input.storage->data()) +
                    input.offset * static_cast<int64_t>(size_of(input.dtype));
    return true;
  }
  if (input.op->kind != OpKind::constant) return false;
  *number = input.immediates.value[0];
  if (input.dtype == Dtype::float32) {
    *number = __builtin_bit_cast(uint32_t, static_cast<float>(__builtin_bit_cast(double, *number)));
  }
  *operand = {number, true};
  return true;
}

// So few elements are computed before anybody who waits for this thread would notice.
constexpr int64_t at_once_count = 512;

[[gnu::noinline]] void add_to_profile(const Node& node, int64_t count, Profile::Time begin) {
  try {
    Profile::add("element-wise " + std::to_string(count) + ": " + node.op->name, begin,
                 Profile::Clock::now());
  } catch (const std::bad_alloc&) {  // not counted
  }
}

}  // namespace

bool run_small_elementwise(Window& window, Node* node, Thread& thread) {
  if (node->op->kind != OpKind::elementwise || !node->device->host_memory) return false;
  int64_t count = element_count(node->shape);
  if (count > Backend::small_count) return false;
  if (count > at_once_count) before_work();
  const size_t size = size_of(node->dtype);
  SmallOperand operands[2];
  uint64_t numbers[2];
  size_t next = 0;
  for (const Tensor& input : node->inputs) {
    if (!find_operand(*input.node(), *node, &operands[next], &numbers[next])) return false;
    ++next;
  }
  if (next == 1) operands[1] = operands[0];
  const bool measured = Profile::measures();
  const Profile::Time begin = measured ? Profile::Clock::now() : Profile::Time();
  Device& device = *node->device;
  Ref<Storage> storage = Storage::allocate(device, static_cast<size_t>(count) * size, thread);
  if (!storage ||
      !device.backend->run_small(*node->op, node->dtype, operands, storage->data(), count)) {
    return false;
  }
  if (measured) add_to_profile(*node, count, begin);
  window.finish(node, std::move(storage));
  return true;
}

}  // namespace mt
