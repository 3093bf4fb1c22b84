// SPDX-License-Identifier: Apache-2.0
/// @file optim.h
/// Training: optimizers, gradient clipping, learning-rate schedules.
///
/// In the formulas w is a parameter, g its gradient, a the learning rate and t the step, from 1.
/// A step updates all parameters that require a gradient and have one, together in a few fused
/// groups; it leaves gradients as they are. State has the parameter's type, but float32 at least.
#ifndef MTORCH_OPTIM_H_
#define MTORCH_OPTIM_H_

#include "nn.h"

#ifdef __cplusplus
extern "C" {
#endif

/// One plain step on leaves without any state: w = w - lr g. Leaves without gradient stay.
/// MT_EINVAL unless lr is finite and >= 0.
MT_API mt_status mt_sgd(mt_tensor* const* params, size_t n, double lr);

// -------------------------------------------------------------------------------------- Optimizers

/// An update rule and its state, for the parameters of one collection, kept alive by it. It may
/// step inside a trace, but is made before (MT_ETRACE). Opaque.
typedef struct mt_optimizer mt_optimizer;

/// Options of mt_optimizer_sgd().
typedef struct mt_sgd_options {
  size_t struct_size;
  double momentum;      ///< m; 0
  double dampening;     ///< d; 0
  double weight_decay;  ///< c; 0
  bool nesterov;        ///< needs momentum > 0 and dampening 0; false
} mt_sgd_options;
#define MT_SGD_OPTIONS_INIT \
  { sizeof(mt_sgd_options), 0, 0, 0, false }

/// Gradient descent, with momentum if m > 0:
///
///     g += c w,  v = m v + (1 - d) g (at first: v = g),  w -= a v (Nesterov: w -= a (g + m v))
///
/// (Sutskever, Martens, Dahl and Hinton, 2013.) The first step is that of each parameter. `options`
/// may be NULL.
MT_API mt_optimizer* mt_optimizer_sgd(mt_parameters* parameters, double lr,
                                      const mt_sgd_options* options);

/// Options of mt_optimizer_adam() and mt_optimizer_adamw().
typedef struct mt_adam_options {
  size_t struct_size;
  double beta1;         ///< 0.9
  double beta2;         ///< 0.999
  double epsilon;       ///< e; 1e-8
  double weight_decay;  ///< c; Adam 0, AdamW 0.01
} mt_adam_options;
#define MT_ADAM_OPTIONS_INIT \
  { sizeof(mt_adam_options), 0.9, 0.999, 1e-8, 0 }
#define MT_ADAMW_OPTIONS_INIT \
  { sizeof(mt_adam_options), 0.9, 0.999, 1e-8, 0.01 }

/// Adam:
///
///     g += c w,  m = beta1 m + (1 - beta1) g,  v = beta2 v + (1 - beta2) g^2,
///     w -= a m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + e)
///
/// (Kingma and Ba, 2015, arXiv 1412.6980.) Usual lr: 1e-3. `options` NULL: MT_ADAM_OPTIONS_INIT.
MT_API mt_optimizer* mt_optimizer_adam(mt_parameters* parameters, double lr,
                                       const mt_adam_options* options);
/// Adam with decoupled decay: w -= a c w, first, in place of g += c w. (Loshchilov and Hutter,
/// 2019, arXiv 1711.05101.) `options` NULL: MT_ADAMW_OPTIONS_INIT.
MT_API mt_optimizer* mt_optimizer_adamw(mt_parameters* parameters, double lr,
                                        const mt_adam_options* options);

/// Options of mt_optimizer_rmsprop().
typedef struct mt_rmsprop_options {
  size_t struct_size;
  double smoothing;     ///< s; 0.99
  double epsilon;       ///< e; 1e-8
  double momentum;      ///< m; 0
  double weight_decay;  ///< c; 0
} mt_rmsprop_options;
#define MT_RMSPROP_OPTIONS_INIT \
  { sizeof(mt_rmsprop_options), 0.99, 1e-8, 0, 0 }

/// RMSProp:
///
///     g += c w,  v = s v + (1 - s) g^2,  b = m b + g / (sqrt(v) + e),  w -= a b
///
/// (Hinton, 2012, lecture 6.) Usual lr: 1e-2. `options` may be NULL.
MT_API mt_optimizer* mt_optimizer_rmsprop(mt_parameters* parameters, double lr,
                                          const mt_rmsprop_options* options);

/// Options of mt_optimizer_adagrad().
typedef struct mt_adagrad_options {
  size_t struct_size;
  double epsilon;       ///< e; 1e-10
  double initial;       ///< v at first; 0
  double weight_decay;  ///< c; 0
} mt_adagrad_options;
#define MT_ADAGRAD_OPTIONS_INIT \
  { sizeof(mt_adagrad_options), 1e-10, 0, 0 }

/// Adagrad:
///
///     g += c w,  v += g^2,  w -= a g / (sqrt(v) + e)
///
/// (Duchi, Hazan and Singer, 2011.) Usual lr: 1e-2. `options` may be NULL.
MT_API mt_optimizer* mt_optimizer_adagrad(mt_parameters* parameters, double lr,
                                          const mt_adagrad_options* options);

/// Makes `group`, for other parameters, part of `optimizer`: from now on a step of the one is a
/// step of both, in the same fused groups. Each keeps a rule, options, t and a learning rate of its
/// own. So biases go without decay, some layers learn slowly, two devices train together:
///
///     mt_optimizer* group = mt_optimizer_adamw(biases, 1e-3, &no_decay);
///     mt_optimizer_add(optimizer, group);
///     mt_optimizer_release(group);
///
/// Where `optimizer`'s rate is set, the group's is too, in the proportion that it has to it now, or
/// that it had when it was last set on its own. While `optimizer`'s is 0, the last before that
/// counts; if there was none, the group's rate stays until `optimizer` gets one.
///
/// `optimizer` becomes an owner of the group. MT_EINVAL, and nothing changes, when it is a group
/// already, or when the two, or what they are groups of, have a parameter or a name in common.
/// Traces of steps recorded before go on without it. Not inside a trace (MT_ETRACE).
MT_API mt_status mt_optimizer_add(mt_optimizer* optimizer, mt_optimizer* group);
/// Updates the parameters once. Refuses while an error is pending. All parameters of one optimizer
/// lie on one device (else MT_EDEVICE) and have the same step t, also one that is added, or gets
/// its first gradient, later on; added groups have theirs. A step runs as a trace of its own, so it
/// first computes pending gradients and keeps its plan for the next; it is only recorded, like any
/// operator, inside a trace, under a tape, with MT_EAGER, where groups lie on several devices, and
/// while large gradients are pending, which then go from their contraction straight into the
/// update.
MT_API mt_status mt_optimizer_step(mt_optimizer* optimizer);
/// How many steps it has taken.
MT_API int64_t mt_optimizer_steps(mt_optimizer* optimizer);
/// The learning rate a.
MT_API double mt_optimizer_learning_rate(mt_optimizer* optimizer);
/// Sets the learning rate, and those of added groups in proportion, see mt_optimizer_add(); traced
/// steps follow it too. MT_EINVAL unless all are finite and >= 0.
MT_API mt_status mt_optimizer_set_learning_rate(mt_optimizer* optimizer, double lr);
/// All that a later step depends on, as tensors by name, which later steps do not change: "step"
/// and "learning_rate", float64 without dimensions (of the first group that was added "step.1",
/// "learning_rate.1" and "proportion.1", in which its rate follows), and for each parameter what
/// its rule keeps: momentum "velocity.NAME", dampened "begun.NAME" too, 0 or 1, Adam "mean.NAME"
/// and "square.NAME", RMSProp "square.NAME", with momentum "velocity.NAME" too, Adagrad
/// "square.NAME". The caller owns the collection, of buffers, and can write it with mt_save_npz()
/// or mt_parameters_save(); such a file names no rule, so it goes back through mt_load_npz() or
/// mt_load_safetensors() and mt_optimizer_set_state().
MT_API mt_parameters* mt_optimizer_state(mt_optimizer* optimizer);
/// Takes such state back, from any device: training goes on bit for bit as where it was read. The
/// same names (else MT_EINVAL), shapes and types (else MT_ESHAPE, MT_EDTYPE); nothing changes
/// unless all fit. Not inside a trace (MT_ETRACE).
MT_API mt_status mt_optimizer_set_state(mt_optimizer* optimizer, mt_parameters* state);
/// Writes the state to a safetensors file, as mt_parameters_save() does, with the rules' names.
MT_API mt_status mt_optimizer_save(mt_optimizer* optimizer, const char* path);
/// Reads it back into an optimizer of the same rules and names (else MT_EIO), shapes and types
/// (else MT_ESHAPE, MT_EDTYPE); nothing changes unless all fit. A file of mt_parameters_save() is
/// refused, as of rule "none".
MT_API mt_status mt_optimizer_load(mt_optimizer* optimizer, const char* path);
/// Gives an optimizer up; one that is a group lives on there. NULL is harmless.
MT_API void mt_optimizer_release(mt_optimizer* optimizer);

/// Scales all gradients by min(1, max_norm / (norm + 1e-6)), where norm is the Euclidean norm of
/// them all as one vector, and returns norm: a float without dimensions. MT_EINVAL for a negative
/// max_norm. (Pascanu, Mikolov and Bengio, 2013, arXiv 1211.5063.)
MT_API mt_tensor* mt_clip_grad_norm(mt_parameters* parameters, double max_norm);

// --------------------------------------------------------------------------------------- Schedules
// Learning rates as plain functions of the step, which counts from 0; for
// mt_optimizer_set_learning_rate(). They multiply: a warm-up factor times a cosine. Never fail.

/// lr factor^floor(step / every): falls by a factor at regular times.
MT_API double mt_schedule_step(double lr, int64_t step, int64_t every, double factor);
/// From lr at step 0 to `lowest` at `steps` and after: lowest + (lr - lowest) (1 + cos(pi step /
/// steps)) / 2. (Loshchilov and Hutter, 2017, arXiv 1608.03983.)
MT_API double mt_schedule_cosine(double lr, int64_t step, int64_t steps, double lowest);
/// lr min(1, (step + 1) / warmup): rises evenly, then stays.
MT_API double mt_schedule_warmup(double lr, int64_t step, int64_t warmup);
/// One cycle: up from lr / 25 at step 0 along a half cosine to lr at step 0.3 `steps` - 1, then
/// down along another to lr / 250000 at step `steps` - 1 and after. Unless 0.3 `steps` is whole the
/// peak falls between two steps, which stay below lr; of 3 steps and fewer it falls before the
/// first, and the rate only falls. (Smith and Topin, 2018, arXiv 1708.07120.)
MT_API double mt_schedule_one_cycle(double lr, int64_t step, int64_t steps);

#ifdef __cplusplus
}
#endif
#endif
