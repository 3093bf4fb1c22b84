// SPDX-License-Identifier: Apache-2.0
/// @file trace.h
/// Tracing a function once to run it many times, and seeing what was fused.
#ifndef MTORCH_TRACE_H_
#define MTORCH_TRACE_H_

#include "tape.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A function that is recorded once for each combination of input shapes, types and devices, and
/// replayed after that. The last 64 recordings used are kept: the one unused longest gives way to a
/// new one, so where more combinations than that take turns each is recorded again and again.
/// Opaque.
typedef struct mt_trace mt_trace;

/// Prepares `function` for tracing; it first runs at mt_trace_call(). `user` is handed to it and
/// lives as long as the trace.
///
/// Every tensor from outside that the function reads, and every one that it rebinds (parameters,
/// gradients, optimizer state, running statistics, the random generator), is a hidden input or
/// output: a whole training step can be one trace, and replaying gives the same bits as calling.
/// Random numbers come from the generator that is current at the call, unless it uses another.
/// The inputs are its own tensors, not the caller's: one that it rebinds is another within it
/// alone, in the recording as at replay. What the caller is to have is a result. Plain numbers are
/// constants of the trace; give what changes as an input, or keep it in a tensor. Whether
/// collections of parameters are in training is none: each mode has a recording of its own. Reading
/// a value inside is MT_ETRACE. Indices that come from outside are checked at every call, as
/// without a trace; those that the function computes itself are clamped to their axis.
MT_API mt_trace* mt_trace_new(mt_function function, void* user);
/// Runs the function on `inputs`, filling `results`: the first time by calling it, then by replay.
/// One that only rebinds tensors may have none: `results` NULL and `nresults` 0, as it then sees.
/// It is called twice then if it rebinds a tensor that nothing has rebound before, and recorded
/// anew when one that it reads has been rebound, or marked, for the first time since. Within a
/// trace the function is part of that, its own too, if no more than 100 deep (MT_ETRACE).
MT_API mt_status mt_trace_call(mt_trace* trace, mt_tensor* const* inputs, size_t ninputs,
                               mt_tensor** results, size_t nresults);
/// How many recordings the trace holds, at most 64; 0, and no error, for NULL.
MT_API size_t mt_trace_count(mt_trace* trace);
/// Frees a trace. NULL is harmless.
MT_API void mt_trace_release(mt_trace* trace);

// -------------------------------------------------------------------------------------- Explain
// What runs as one group, the bytes it moves against those of one operator at a time, which values
// are computed only where they are read, and, for each edge that was not fused, why. Freed with
// mt_free_string().

/// The plan that a read of the tensor would run now. Runs nothing.
MT_API char* mt_explain(mt_tensor* tensor);
/// The same for Graphviz.
MT_API char* mt_explain_dot(mt_tensor* tensor);
/// The plans of the latest recording of a trace. MT_EINVAL before its first call.
MT_API char* mt_explain_trace(mt_trace* trace);
/// The same for Graphviz.
MT_API char* mt_explain_trace_dot(mt_trace* trace);

#ifdef __cplusplus
}
#endif
#endif
