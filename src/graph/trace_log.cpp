// SPDX-License-Identifier: Apache-2.0
#include "graph/trace_log.h"

#include "graph/variable.h"

namespace mt {

thread_local TraceLog* TraceLog::current_ = nullptr;

TraceLog::TraceLog() = default;
TraceLog::~TraceLog() = default;

void TraceLog::note(StateCell* cell) {
  for (const Touched& known : touched) {
    if (known.cell.get() == cell) return;
  }
  touched.push_back({Ref<StateCell>(cell), cell->peek()});
}

void TraceLog::note(StreamSource* source, const Immediates& drawn) {
  draws.push_back({Ref<StreamSource>(source), drawn});
}

}  // namespace mt
