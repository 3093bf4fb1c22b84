// SPDX-License-Identifier: Apache-2.0
#include "ops/kernel.h"

#include <cstring>

#include "base/error.h"
#include "graph/named_operators.h"
#include "tensor/first_byte.h"

namespace mt {
namespace {

char* data_of(const NaiveArray& array) {
  return static_cast<char*>(array.data) + first_byte(array);
}

void kernel_value(const NaiveCall& call) {
  KernelCall kernel(call);
  for (int64_t i = 0; i < kernel.launch.blocks(); ++i) kernel.run_block(i);
}

void kernel_gradient(const Node& node, const Tensor&, Tensor*) {
  fail(Code::no_gradient,
       "backward: %s is a kernel, which has no gradient; call it within a custom operator",
       node.op->name);
}

void part_value(const NaiveCall& call) {
  const NaiveArray& y = call.output;
  size_t bytes = static_cast<size_t>(y.size()) * size_of(y.dtype);
  if (bytes) std::memcpy(data_of(y), data_of(call.inputs[0]) + call.attributes[0], bytes);
}

void part_gradient(const Node& node, const Tensor& dy, Tensor*) {
  kernel_gradient(*node.inputs[0].node(), dy, nullptr);
}

}  // namespace

const Op kernel_part_op{
    .name = "kernel_part",
    .kind = OpKind::call,
    .value = part_value,
    .gradient = part_gradient,
};

const Op& kernel_op(const std::string& name) {
  static auto* kernels = new NamedOperators({
      .name = nullptr,
      .kind = OpKind::call,
      .code = kernel_code,
      .value = kernel_value,
      .gradient = kernel_gradient,
  });
  return kernels->find_or_add(name);
}

KernelCall::KernelCall(const NaiveCall& call)
    : launch(*static_cast<const Launch*>(call.inputs.back().data)) {
  for (const NaiveArray& input : call.inputs.first(call.inputs.size() - 1)) {
    inputs.push_back(data_of(input));
  }
  for (const Launch::Result& result : launch.results) {
    results.push_back(data_of(call.output) + result.byte);
  }
}

void KernelCall::run_block(int64_t index) const {
  const int64_t* grid = launch.grid;
  int64_t block[3] = {index % grid[0], index / grid[0] % grid[1], index / grid[0] / grid[1]};
  launch.kernel->run_block(launch, block, inputs.data(), results.data());
}

}  // namespace mt
