// SPDX-License-Identifier: Apache-2.0
// The C functions of mtorch/trace.h.
#include "mtorch/trace.h"

#include <string>

#include "api/callback.h"
#include "api/guard.h"
#include "api/strings.h"
#include "fusion/explain.h"
#include "fusion/trace.h"

struct mt_trace {
  mt_function function;
  void* user;
  mt::Trace trace;
};

namespace mt::api {
namespace {

struct Call {
  mt_trace* trace;
  size_t results;
};

std::vector<Tensor> run_function(void* context, const std::vector<Tensor>& inputs) {
  const Call& call = *static_cast<Call*>(context);
  return call_function("trace", call.trace->function, call.trace->user, inputs, call.results);
}

char* explanation(const mt_trace* trace, std::string (Trace::*text)() const) {
  required(trace, "trace");
  if (trace->trace.count() == 0) fail(Code::invalid, "the trace has recorded nothing yet");
  return give_text((trace->trace.*text)());
}

}  // namespace
}  // namespace mt::api

using namespace mt::api;

extern "C" {

mt_trace* mt_trace_new(mt_function function, void* user) {
  return read<mt_trace*>("trace_new", nullptr, [&] {
    required(reinterpret_cast<void*>(function), "function");
    return new mt_trace{function, user, {}};
  });
}

mt_status mt_trace_call(mt_trace* trace, mt_tensor* const* inputs, size_t ninputs,
                        mt_tensor** results, size_t nresults) {
  return change_all("trace_call", results, nresults, [&] {
    required(trace, "trace");
    Call call{trace, nresults};
    return trace->trace.call(values(inputs, ninputs), {run_function, &call, nresults});
  });
}

size_t mt_trace_count(mt_trace* trace) { return trace ? trace->trace.count() : 0; }

void mt_trace_release(mt_trace* trace) { delete trace; }

char* mt_explain(mt_tensor* tensor) {
  return read<char*>("explain", nullptr, [&] { return give_text(mt::explain(value(tensor))); });
}

char* mt_explain_dot(mt_tensor* tensor) {
  return read<char*>("explain_dot", nullptr,
                     [&] { return give_text(mt::explain_dot(value(tensor))); });
}

char* mt_explain_trace(mt_trace* trace) {
  return read<char*>("explain_trace", nullptr,
                     [&] { return explanation(trace, &mt::Trace::explain); });
}

char* mt_explain_trace_dot(mt_trace* trace) {
  return read<char*>("explain_trace_dot", nullptr,
                     [&] { return explanation(trace, &mt::Trace::explain_dot); });
}

}  // extern "C"
