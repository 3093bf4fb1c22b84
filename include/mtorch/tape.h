// SPDX-License-Identifier: Apache-2.0
/// @file tape.h
/// Automatic differentiation: gradients, the tape, operators of your own.
///
/// A tensor that came from one that requires a gradient carries its **history**, the operators and
/// inputs that made it; walking it backwards gives gradients, which are recorded as ordinary
/// operators. A tensor without history is a **leaf**.
///
/// @code
/// mt_tensor* w = mt_take(mt_require_grad(mt_zeros(MT_DIMS(3), MT_F32, NULL)));
/// MT_SCOPE {
///   mt_backward(mt_sum(mt_square(mt_sub(w, mt_number(1))), NULL, 0));
///   mt_sgd(&w, 1, 0.1);       // w -= 0.1 * gradient
///   mt_zero_grad(&w, 1);
/// }
/// @endcode
#ifndef MTORCH_TAPE_H_
#define MTORCH_TAPE_H_

#include "tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

// --------------------------------------------------------------------------------------- Gradients

/// Marks a leaf as one whose gradient is wanted, and returns the same handle. MT_EDTYPE unless it
/// is a float, MT_EINVAL when it has a history.
MT_API mt_tensor* mt_require_grad(mt_tensor* leaf);
/// The same, on or off. A parameter with it off is frozen.
MT_API mt_status mt_set_requires_grad(mt_tensor* leaf, bool require);
/// Whether a tensor is such a leaf or carries a history.
MT_API bool mt_requires_grad(mt_tensor* tensor);
/// Whether a tensor has no history.
MT_API bool mt_is_leaf(mt_tensor* tensor);
/// The same value without history.
MT_API mt_tensor* mt_detach(mt_tensor* x);

/// Adds d loss / d leaf to the gradient of each leaf that requires one, then forgets the history of
/// `loss`. `loss` has one element (MT_ESHAPE). MT_ENOGRAD when it has no history, or passes through
/// an operator without gradient, which is named. Refuses while an error is pending.
MT_API mt_status mt_backward(mt_tensor* loss);

/// How mt_backward_with() walks.
typedef struct mt_backward_options {
  size_t struct_size;
  bool retain;          ///< keep the history, so that it can be walked again; false
  bool differentiable;  ///< the gradients carry a history too (implies retain); false
} mt_backward_options;
#define MT_BACKWARD_OPTIONS_INIT \
  { sizeof(mt_backward_options), false, false }

/// mt_backward() from an output of any shape: adds the gradient of sum(output * gradient).
/// `gradient` has output's shape; NULL means ones. `options` may be NULL.
MT_API mt_status mt_backward_with(mt_tensor* output, mt_tensor* gradient,
                                  const mt_backward_options* options);

/// The gradient accumulated in a leaf, with its shape and type. NULL, and no error, while there is
/// none: before the first backward and after mt_zero_grad().
MT_API mt_tensor* mt_gradient(mt_tensor* leaf);
/// Replaces the gradient of a leaf; NULL removes it. MT_ESHAPE, MT_EDTYPE unless it fits.
MT_API mt_status mt_set_gradient(mt_tensor* leaf, mt_tensor* gradient);
/// Removes the gradients of `n` leaves. Optimizer steps never do.
MT_API mt_status mt_zero_grad(mt_tensor* const* params, size_t n);

/// The gradients of sum over j of sum(outputs[j] * output_gradients[j]) to each input, as a pure
/// function: touches no accumulated gradient and forgets no history. `output_gradients` (NULL, or
/// an element NULL: ones) match `outputs`; fills `ninputs` results. An input may be any tensor of
/// the history; one that the outputs do not depend on gets zeros, one that does not require a
/// gradient is MT_ENOGRAD, and so is a broadcast product that is only summed, since that runs as a
/// contraction and never forms it: ask for its factors', or mt_copy() it. The results carry a
/// history in turn, for gradients of gradients, unless called within MT_NO_GRAD, which saves
/// memory; where they depend on an input through comparisons alone, as relu's slope does, the
/// gradient of the gradient is zero.
MT_API mt_status mt_grad(mt_tensor* const* outputs, size_t noutputs, mt_tensor* const* inputs,
                         size_t ninputs, mt_tensor* const* output_gradients, mt_tensor** results);

/// Whether this thread records histories, as it does at first.
MT_API bool mt_grad_mode(void);
/// Switches it and returns what it was.
MT_API bool mt_set_grad_mode(bool record);
/// Stops recording until the matching mt_no_grad_end(); returns what to give that, never 0.
MT_API int mt_no_grad_begin(void);
/// Goes back to the mode before; returns 0.
MT_API int mt_no_grad_end(int previous);
/// A block in which nothing is recorded. Leaving it is as in MT_SCOPE.
#define MT_NO_GRAD                                                                        \
  for (int MT_UNIQUE_(mt_no_grad_) MT_CLEANUP_(mt_no_grad_cleanup_) = mt_no_grad_begin(); \
       MT_UNIQUE_(mt_no_grad_); MT_UNIQUE_(mt_no_grad_) = mt_no_grad_end(MT_UNIQUE_(mt_no_grad_)))
/// @cond
#ifdef __GNUC__
static inline void mt_no_grad_cleanup_(int* previous) {
  if (*previous) mt_no_grad_end(*previous);
}
#endif
/// @endcond

// ---------------------------------------------------------------------------------------- The tape

/// A record of operators in the order they were called. Opaque.
typedef struct mt_tape mt_tape;

/// Starts recording every operator that this thread calls. Tapes may nest; each records all.
MT_API mt_tape* mt_tape_begin(void);
/// Stops recording. The tape can then be read until it is released. Any thread may do it.
MT_API mt_status mt_tape_end(mt_tape* tape);
/// Ends and frees a tape, on any thread. NULL is harmless.
MT_API void mt_tape_release(mt_tape* tape);

/// The number of nodes. A tensor from outside is a node too, "input", just before its first use. In
/// the functions below a node `i` that is not less than this is MT_EINDEX.
MT_API size_t mt_tape_length(mt_tape* tape);
/// The operator of node i: "matmul", "input", ... Belongs to the library.
MT_API const char* mt_tape_operator(mt_tape* tape, size_t i);
/// The nodes that node i reads: returns their number, and writes at most `capacity` of their
/// indices, all below i.
MT_API size_t mt_tape_inputs(mt_tape* tape, size_t i, int64_t* indices, size_t capacity);
/// The number of dimensions of node i's value.
MT_API size_t mt_tape_ndim(mt_tape* tape, size_t i);
/// Their sizes. Belongs to the tape.
MT_API const int64_t* mt_tape_dims(mt_tape* tape, size_t i);
/// The element type of node i's value.
MT_API mt_dtype mt_tape_dtype(mt_tape* tape, size_t i);
/// The value of node i.
MT_API mt_tensor* mt_tape_tensor(mt_tape* tape, size_t i);
/// The node whose value `tensor` has now; -1 when the tape does not hold it.
MT_API int64_t mt_tape_find(mt_tape* tape, mt_tensor* tensor);
/// One line for each node: "%3 = matmul(%0, %1)  float32[64,1]". Freed with mt_free_string().
MT_API char* mt_tape_to_string(mt_tape* tape);
/// The tape as a Graphviz graph. Freed with mt_free_string().
MT_API char* mt_tape_to_dot(mt_tape* tape);

/// The gradients of sum(output) to each input, both on the tape, whether or not they were marked
/// with mt_require_grad(): fills `ninputs` results. MT_EINVAL for a tensor that is not on the tape.
MT_API mt_status mt_tape_gradient(mt_tape* tape, mt_tensor* output, mt_tensor* const* inputs,
                                  size_t ninputs, mt_tensor** results);
/// Runs the recorded operators again with other values for some nodes: `replacements[i]` stands for
/// `inputs[i]`, of the same shape and type. Fills `noutputs` results, the new values of `outputs`.
/// MT_EINVAL for a tensor that is not on the tape.
MT_API mt_status mt_tape_replay(mt_tape* tape, mt_tensor* const* inputs, size_t ninputs,
                                mt_tensor* const* replacements, mt_tensor* const* outputs,
                                size_t noutputs, mt_tensor** results);

// ---------------------------------------------------------------------------- Your own functions

/// A function of tensors, for mt_checkpoint(), mt_gradient_check(), mt_trace_new() and custom
/// operators. It sets `results`, of which the last may stay NULL, and are NULL to the caller too,
/// but not the first; the library runs it in a scope of its own, so it takes and releases nothing.
/// It returns MT_OK, or MT_EUSER or another code, with a message by mt_set_error() if it likes. It
/// runs on the thread whose call needs it.
typedef mt_status (*mt_function)(void* user, mt_tensor* const* inputs, size_t ninputs,
                                 mt_tensor** results, size_t nresults);

/// Calls `function` once, filling `results`, and keeps none of its intermediate values for
/// backward, which computes them again from `inputs` (Chen and others, 2016, arXiv 1604.06174).
/// Random draws come out the same. `user` is needed during the call only. MT_EINVAL for no results.
MT_API mt_status mt_checkpoint(mt_function function, void* user, mt_tensor* const* inputs,
                               size_t ninputs, mt_tensor** results, size_t nresults);

/// An operator with its own gradient. `struct_size` is sizeof(mt_operator).
typedef struct mt_operator {
  size_t struct_size;
  const char* name;  ///< for messages, tapes and explain; copied; NULL: "custom"
  /// The results. Runs within the call, with nothing recorded; may read values, except inside a
  /// trace, where it may only call operators.
  mt_function forward;
  /// Sets `input_gradients[i]`, or leaves it NULL for none, from the results' gradients; each has
  /// the shape and type of its tensor. Operators that it calls are recorded where a gradient of
  /// the gradient is wanted; such a gradient passes through inputs, results and their gradients,
  /// while tensors that `forward` left in `user` are constants to it. NULL: asking for a gradient
  /// is MT_ENOGRAD.
  mt_status (*backward)(void* user, mt_tensor* const* inputs, size_t ninputs,
                        mt_tensor* const* results, size_t nresults,
                        mt_tensor* const* result_gradients, mt_tensor** input_gradients);
  /// Called once for each mt_custom() that succeeds, on any thread, when `user` is not needed any
  /// more. May be NULL.
  void (*destroy)(void* user);
  void* user;  ///< handed to the three callbacks
} mt_operator;

/// Applies an operator of your own to `inputs`, filling `results`. What is pending is computed
/// first. A callback that fails, or leaves its first result NULL, is MT_EUSER, or MT_ENOMEM where
/// memory ran out; no results are MT_EINVAL.
MT_API mt_status mt_custom(const mt_operator* operation, mt_tensor* const* inputs, size_t ninputs,
                           mt_tensor** results, size_t nresults);

/// How mt_gradient_check() compares.
typedef struct mt_gradient_check_options {
  size_t struct_size;
  double step;      ///< h; 1e-6
  double relative;  ///< tolerance relative to the larger value; 1e-5
  double absolute;  ///< tolerance near zero; 1e-7
  int order;        ///< 2 checks the gradient's gradient as well; 1
} mt_gradient_check_options;
#define MT_GRADIENT_CHECK_OPTIONS_INIT \
  { sizeof(mt_gradient_check_options), 1e-6, 1e-5, 1e-7, 1 }

/// Compares the gradients of `function`, which has one result, with central differences
/// (f(x + h) - f(x - h)) / 2h, element by element. The inputs are float64 (MT_EDTYPE) and are not
/// changed. A result of several elements is weighted by fixed random numbers and summed. `options`
/// may be NULL. MT_EINVAL for a difference, its message naming input, element and both values.
MT_API mt_status mt_gradient_check(mt_function function, void* user, mt_tensor* const* inputs,
                                   size_t ninputs, const mt_gradient_check_options* options);

#ifdef __cplusplus
}
#endif
#endif
