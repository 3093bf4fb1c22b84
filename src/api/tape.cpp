// SPDX-License-Identifier: Apache-2.0
// The C functions of mtorch/tape.h on tapes.
#include <algorithm>
#include <unordered_set>

#include "api/guard.h"
#include "api/strings.h"
#include "autodiff/backward.h"
#include "graph/modes.h"
#include "graph/replay.h"
#include "graph/tape.h"
#include "mtorch/tape.h"
#include "ops/ops.h"

struct mt_tape {
  mt::Tape tape;
};

using namespace mt;
using namespace mt::api;

namespace {

const Tape& tape_of(const mt_tape* tape) { return required(tape, "the tape")->tape; }

const Tape::Entry& entry_of(const mt_tape* tape, size_t i) {
  const auto& entries = tape_of(tape).entries();
  if (i >= entries.size()) {
    throw ArgumentError(Code::index, "node " + std::to_string(i) + " of a tape of " +
                                         std::to_string(entries.size()));
  }
  return entries[i];
}

// The node on the tape that a tensor is.
Tensor node_on_tape(const Tape& tape, mt_tensor* tensor, const char* what, size_t i) {
  Tensor node = required(tensor, "a tensor")->get();
  if (tape.index_of(node) < 0) {
    throw ArgumentError(Code::invalid,
                        std::string(what) + " " + std::to_string(i) + " is not on the tape");
  }
  return node;
}

std::vector<Tensor> nodes_of(const Tape& tape) {
  std::vector<Tensor> nodes;
  for (const Tape::Entry& entry : tape.entries()) {
    if (!entry.outside) nodes.push_back(entry.node);
  }
  return nodes;
}

// Operators ask only for gradients of what requires one; so the tape is recorded again on inputs
// that do. An input that was made from another keeps depending on it.
std::vector<Tensor> tape_gradients(const Tape& tape, mt_tensor* output, mt_tensor* const* inputs,
                                   size_t count) {
  Tensor end = node_on_tape(tape, output, "output", 0);
  std::vector<Tensor> starts, found;
  std::unordered_set<const Node*> wanted;
  for (size_t i = 0; i < count; ++i) {
    starts.push_back(node_on_tape(tape, inputs[i], "input", i));
    if (!is_floating(starts[i].dtype())) {
      fail(Code::dtype, "tape_gradient: input %zu is %s, which has no gradient", i,
           name_of(starts[i].dtype()));
    }
    wanted.insert(starts[i].node());
  }
  Replacements values;
  bool keeps_history = gradient_mode();
  {
    GradientMode with_history(true);
    for (size_t i = 0, count = tape.entries().size(); i < count; ++i) {
      const auto [node, outside, _] = tape.entries()[i];  // one that has not ended grows meanwhile
      if (!outside) replay({node}, &values);
      if (!wanted.count(node.node())) continue;
      Tensor& value = values[node.node()];
      if (value && value.requires_gradient()) continue;
      value = detach(node);
      value->requires_gradient = true;
    }
  }
  for (Tensor& start : starts) start = values.at(start.node());
  auto replaced = values.find(end.node());
  GradientMode mode(keeps_history);
  found.resize(count);
  if (replaced != values.end() && replaced->second.requires_gradient()) {
    found = gradients({replaced->second}, {ones_like(replaced->second)}, starts);
  }
  for (size_t i = 0; i < count; ++i) {
    if (!found[i]) found[i] = zeros_like(starts[i]);
  }
  return found;
}

std::vector<Tensor> replay_tape(const Tape& tape, mt_tensor* const* inputs, size_t ninputs,
                                mt_tensor* const* replacements, mt_tensor* const* outputs,
                                size_t noutputs) {
  Replacements values;
  for (size_t i = 0; i < ninputs; ++i) {
    Tensor node = node_on_tape(tape, inputs[i], "input", i), other = value(replacements[i]);
    if (other.shape() != node.shape()) {
      fail(Code::shape, "tape_replay: a replacement of shape %s for input %zu of shape %s",
           to_string(other.shape()).c_str(), i, to_string(node.shape()).c_str());
    }
    if (other.dtype() != node.dtype()) {
      fail(Code::dtype, "tape_replay: a replacement of %s for input %zu of %s",
           name_of(other.dtype()), i, name_of(node.dtype()));
    }
    if (&other.device() != &node.device()) {
      fail(Code::device, "tape_replay: a replacement on %s for input %zu on %s",
           other.device().name.c_str(), i, node.device().name.c_str());
    }
    values[node.node()] = other;
  }
  std::vector<Tensor> ends;
  for (size_t i = 0; i < noutputs; ++i) {
    ends.push_back(node_on_tape(tape, outputs[i], "output", i));
  }
  replay(nodes_of(tape), &values);
  for (Tensor& end : ends) {
    auto found = values.find(end.node());
    if (found != values.end()) end = found->second;
  }
  return ends;
}

}  // namespace

mt_tape* mt_tape_begin(void) {
  return read<mt_tape*>("tape_begin", nullptr, [] {
    auto tape = std::make_unique<mt_tape>();
    tape->tape.begin();
    return tape.release();
  });
}

mt_status mt_tape_end(mt_tape* tape) {
  return run("tape_end", [&] { required(tape, "the tape")->tape.end(); });
}

void mt_tape_release(mt_tape* tape) { delete tape; }

size_t mt_tape_length(mt_tape* tape) {
  return read<size_t>("tape_length", 0, [&] { return tape_of(tape).entries().size(); });
}

const char* mt_tape_operator(mt_tape* tape, size_t i) {
  return read<const char*>("tape_operator", nullptr, [&] { return entry_of(tape, i).operation(); });
}

size_t mt_tape_inputs(mt_tape* tape, size_t i, int64_t* indices, size_t capacity) {
  return read<size_t>("tape_inputs", 0, [&] {
    const auto& inputs = entry_of(tape, i).inputs;
    size_t count = std::min(inputs.size(), capacity);
    if (count) std::copy(inputs.begin(), inputs.begin() + count, required(indices, "indices"));
    return inputs.size();
  });
}

size_t mt_tape_ndim(mt_tape* tape, size_t i) {
  return read<size_t>("tape_ndim", 0,
                      [&] { return static_cast<size_t>(entry_of(tape, i).node.rank()); });
}

const int64_t* mt_tape_dims(mt_tape* tape, size_t i) {
  return read<const int64_t*>("tape_dims", nullptr,
                              [&] { return entry_of(tape, i).node.shape().data(); });
}

mt_dtype mt_tape_dtype(mt_tape* tape, size_t i) {
  return read<mt_dtype>("tape_dtype", 0, [&] { return to_code(entry_of(tape, i).node.dtype()); });
}

mt_tensor* mt_tape_tensor(mt_tape* tape, size_t i) {
  return give("tape_tensor", [&] { return entry_of(tape, i).node; });
}

int64_t mt_tape_find(mt_tape* tape, mt_tensor* tensor) {
  return read<int64_t>("tape_find", -1, [&] {
    return tape_of(tape).index_of(required(tensor, "the tensor")->peek());
  });
}

char* mt_tape_to_string(mt_tape* tape) {
  return read<char*>("tape_to_string", nullptr, [&] { return give_text(tape_of(tape).to_text()); });
}

char* mt_tape_to_dot(mt_tape* tape) {
  return read<char*>("tape_to_dot", nullptr, [&] { return give_text(tape_of(tape).to_dot()); });
}

mt_status mt_tape_gradient(mt_tape* tape, mt_tensor* output, mt_tensor* const* inputs,
                           size_t ninputs, mt_tensor** results) {
  return give_all("tape_gradient", results, ninputs, [&] {
    if (ninputs) required(inputs, "inputs");
    return tape_gradients(tape_of(tape), output, inputs, ninputs);
  });
}

mt_status mt_tape_replay(mt_tape* tape, mt_tensor* const* inputs, size_t ninputs,
                         mt_tensor* const* replacements, mt_tensor* const* outputs, size_t noutputs,
                         mt_tensor** results) {
  return give_all("tape_replay", results, noutputs, [&] {
    if (ninputs) required(inputs, "inputs"), required(replacements, "replacements");
    if (noutputs) required(outputs, "outputs");
    return replay_tape(tape_of(tape), inputs, ninputs, replacements, outputs, noutputs);
  });
}
