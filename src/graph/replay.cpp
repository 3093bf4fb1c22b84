// SPDX-License-Identifier: Apache-2.0
#include "graph/replay.h"

#include "base/error.h"
#include "graph/record.h"
#include "graph/variable.h"

namespace mt {

Tensor record_again(const Node& node, const Inputs& inputs) {
  const Op& op = *node.op;
  if (op.record_again) return op.record_again(node, inputs.data());
  if (op.kind == OpKind::view || op.kind == OpKind::leaf) {
    fail(Code::unsupported, "%s: cannot be recorded again on other values", op.name);
  }
  Tensor result =
      inputs.empty() ? record_source(op, node.dtype, node.shape, *node.device, node.attributes,
                                     node.immediates)
                     : record(op, node.dtype, node.shape, inputs, node.attributes, node.immediates);
  result->is_plain_number = node.is_plain_number;
  return result;
}

void replay(const std::vector<Tensor>& nodes, Replacements* replacements, bool all) {
  for (const Tensor& node : nodes) {
    if (replacements->count(node.node())) continue;
    Inputs inputs;
    bool changed = all;
    for (const Tensor& input : node->inputs) {
      auto found = replacements->find(input.node());
      changed |= found != replacements->end();
      inputs.push_back(found == replacements->end() ? input : found->second);
    }
    if (changed) (*replacements)[node.node()] = record_again(*node.node(), inputs);
  }
}

std::vector<Tensor> without_values(const std::vector<Tensor>& nodes) {
  std::unordered_map<const Node*, Tensor> bare;
  std::vector<Tensor> result;
  for (const Tensor& node : nodes) {
    Tensor copy = Tensor::adopt(new Node(*node->op, node.dtype(), node.shape(), node.device()));
    copy->attributes = node->attributes;
    copy->immediates = node->immediates;
    copy->is_plain_number = node->is_plain_number;
    if (node->op->kind == OpKind::leaf) copy->storage = node->storage;  // a call, autodiff/call.h
    for (const Tensor& input : node->inputs) {
      auto found = bare.find(input.node());
      copy->inputs.push_back(found == bare.end() ? input : found->second);
    }
    bare[node.node()] = copy;
    result.push_back(copy);
  }
  return result;
}

}  // namespace mt
