// SPDX-License-Identifier: Apache-2.0
#include "graph/trace_log.h"

#include "graph/record.h"
#include "graph/variable.h"

namespace mt {

namespace {

// Several cells may hold this value now but different ones at a replay: each gets a node of its
// own, by which the trace can tell where a value was read. A value with a history keeps its node.
Tensor stand_in(const Tensor& value) {
  if (!value || !value->ready() || (value.requires_gradient() && !value->variable)) return value;
  Tensor leaf = make_leaf(value->storage, value.dtype(), value->layout());
  leaf->is_plain_number = value->is_plain_number;
  leaf->variable = value->variable;
  leaf->requires_gradient = value.requires_gradient();
  return leaf;
}

}  // namespace

TraceLog::TraceLog() = default;
TraceLog::~TraceLog() = default;

TraceLog::Touched* TraceLog::find(const StateCell* cell) {
  for (Touched& known : touched) {
    if (known.cell.get() == cell) return &known;
  }
  return nullptr;
}

TraceLog::Touched& TraceLog::touch(StateCell* cell) {
  if (Touched* known = find(cell)) return *known;
  Tensor before = cell->value(), seen = stand_in(before);
  touched.push_back({Ref<StateCell>(cell), before, seen, seen});
  return touched.back();
}

void TraceLog::take_draws_back() {
  for (auto draw = draws.rbegin(); draw != draws.rend(); ++draw) {
    draw->source->take_back(draw->immediates.value[1], 1);
  }
}

void TraceLog::start_over() {
  take_draws_back();
  touched.clear();
  draws.clear();
  checks.clear();
  late_state = false;
}

void TraceLog::note(StreamSource* source, const Immediates& drawn, const Node* node) {
  draws.push_back({Ref<StreamSource>(source), drawn, node});
}

}  // namespace mt
