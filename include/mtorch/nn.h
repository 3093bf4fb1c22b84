// SPDX-License-Identifier: Apache-2.0
/// @file nn.h
/// Neural networks: functions and losses, initialisers, named parameters, and layers over them.
///
/// Everything here is a composition of operators: it fuses, differentiates to any order and runs on
/// every device. Types are floats unless said. Names and layouts of parameters are PyTorch's, so
/// that weights can be exchanged.
#ifndef MTORCH_NN_H_
#define MTORCH_NN_H_

#include "linear.h"

#ifdef __cplusplus
extern "C" {
#endif

// --------------------------------------------------------------------------------------- Functions

/// e^x / sum(e^x) along `axis`, with max(x) subtracted first.
MT_API mt_tensor* mt_softmax(mt_tensor* x, int64_t axis);
/// log(softmax(x)) = x - logsumexp(x) along `axis`.
MT_API mt_tensor* mt_log_softmax(mt_tensor* x, int64_t axis);

/// (x - mean) / sqrt(var + epsilon) * weight + bias, mean and population variance over the last
/// `naxes` axes, whose shape `weight` and `bias` have; either may be NULL. (Ba, Kiros and Hinton,
/// 2016, arXiv 1607.06450.)
MT_API mt_tensor* mt_layer_norm(mt_tensor* x, size_t naxes, mt_tensor* weight, mt_tensor* bias,
                                double epsilon);
/// x / sqrt(mean(x^2) + epsilon) * weight over the last `naxes` axes; `weight` may be NULL. (Zhang
/// and Sennrich, 2019, arXiv 1910.07467.)
MT_API mt_tensor* mt_rms_norm(mt_tensor* x, size_t naxes, mt_tensor* weight, double epsilon);

/// (x - mean) / sqrt(var + epsilon) * weight + bias, mean and population variance over each group
/// of channels, axis 1 of x [batch, channels, ...], with all axes after it; `weight` and `bias` are
/// [channels] or NULL. (Wu and He, 2018, arXiv 1803.08494.)
MT_API mt_tensor* mt_group_norm(mt_tensor* x, int64_t groups, mt_tensor* weight, mt_tensor* bias,
                                double epsilon);

/// How mt_batch_norm() works.
typedef struct mt_batch_norm_options {
  size_t struct_size;
  bool training;    ///< use the batch's statistics and update the running ones; false
  double momentum;  ///< weight of the new statistics in the running ones; 0.1
  double epsilon;   ///< added to the variance; 1e-5
} mt_batch_norm_options;
#define MT_BATCH_NORM_OPTIONS_INIT \
  { sizeof(mt_batch_norm_options), false, 0.1, 1e-5 }

/// (x - mean) / sqrt(var + epsilon) * weight + bias for each channel, axis 1 of x [batch, channels,
/// ...]; the other four are [channels], `weight` and `bias` or NULL. In training over the batch
/// (population variance), rebinding `running_mean` and `running_var` to (1 - momentum) old +
/// momentum new (sample variance), unless they are NULL; else by the running statistics. `options`
/// may be NULL. (Ioffe and Szegedy, 2015, arXiv 1502.03167.)
MT_API mt_tensor* mt_batch_norm(mt_tensor* x, mt_tensor* weight, mt_tensor* bias,
                                mt_tensor* running_mean, mt_tensor* running_var,
                                const mt_batch_norm_options* options);

/// In training each element is 0 with the given probability, else x / (1 - probability); otherwise
/// x. MT_EINVAL unless 0 <= probability <= 1. (Srivastava and others, 2014.)
MT_API mt_tensor* mt_dropout(mt_tensor* x, double probability, bool training);

/// Draws classes along `axis`, each with its probability in softmax(logits): int64, of logits'
/// shape without that axis. log(p) are logits of probabilities p, known up to a factor, and
/// -infinity is never drawn, unless all are; a NaN always is. Broadcast the logits for several
/// draws of each, or divide them by a temperature. (The largest of logits with Gumbel's noise.)
/// Halves are widened to float32, in which probabilities below 1e-9 come out less exactly than in
/// float64. No gradient. MT_EINVAL for no classes.
MT_API mt_tensor* mt_categorical(mt_tensor* logits, int64_t axis);

/// Rows of `weight` [count, size] for integers [...]: [..., size]. MT_EINDEX outside [0, count):
/// unlike an index, the number of a word does not count from the end, so that a -1 that pads is
/// found.
MT_API mt_tensor* mt_embedding(mt_tensor* indices, mt_tensor* weight);

/// How mt_scaled_dot_product_attention() works.
typedef struct mt_attention_options {
  size_t struct_size;
  bool causal;     ///< a query sees only keys at or before its own position; false
  double scale;    ///< of the scores; 0 means 1 / sqrt(d)
  double dropout;  ///< probability of dropping a weight; 0
  bool training;   ///< whether it drops; layers use their collection's mode; false
  bool bias;       ///< layers only: with biases; true
} mt_attention_options;
#define MT_ATTENTION_OPTIONS_INIT \
  { sizeof(mt_attention_options), false, 0, 0, false, true }

/// softmax(query key^T scale + mask) value: query [..., n, d], key [..., m, d], value [..., m, e]
/// give [..., n, e]. `mask` broadcasts to [..., n, m] or is NULL: bool says who may be seen, floats
/// are added. Who sees nothing, or scores of -infinity alone, gets 0, whose gradients are 0.
///
/// This is one pass that never holds the weights, and so is its gradient (Vaswani and others, arXiv
/// 1706.03762; online softmax, arXiv 1805.02867; FlashAttention-2, arXiv 2307.08691): memory grows
/// with n and m, not with n m. 16-bit floats are worked on in float32; a GPU rounds weights to them
/// before it multiplies. Where weights are dropped, the mask requires a gradient, or gradients of
/// gradients are taken, they are formed. `options` may be NULL. Weights of 0 are not all
/// multiplied: whether the infinite value of a key that `causal` hides makes a NaN is not promised.
MT_API mt_tensor* mt_scaled_dot_product_attention(mt_tensor* query, mt_tensor* key,
                                                  mt_tensor* value, mt_tensor* mask,
                                                  const mt_attention_options* options);

// Recurrent networks read x [batch, n, in] position by position and keep a state h [batch, hidden],
// NULL for zeros at first. With k gates, weight_ih is [k hidden, in], weight_hh [k hidden, hidden]
// and the biases, both or neither, [k hidden]. They set y [batch, n, hidden], all states, and the
// last one; each may be NULL when it is not wanted. s is the sigmoid; x' and h' stand for weight_ih
// x + bias_ih and weight_hh h + bias_hh, by gates.

/// h = tanh(x' + h'); one gate. (Elman, 1990.)
MT_API mt_status mt_rnn(mt_tensor* x, mt_tensor* state, mt_tensor* weight_ih, mt_tensor* weight_hh,
                        mt_tensor* bias_ih, mt_tensor* bias_hh, mt_tensor** y, mt_tensor** last);
/// h = (1 - z) tanh(x'n + r h'n) + z h, r = s(x'r + h'r), z = s(x'z + h'z); gates r, z, n. (Cho and
/// others, 2014, arXiv 1406.1078.)
MT_API mt_status mt_gru(mt_tensor* x, mt_tensor* state, mt_tensor* weight_ih, mt_tensor* weight_hh,
                        mt_tensor* bias_ih, mt_tensor* bias_hh, mt_tensor** y, mt_tensor** last);
/// c = s(x'f + h'f) c + s(x'i + h'i) tanh(x'g + h'g), h = s(x'o + h'o) tanh(c); gates i, f, g, o.
/// `cell` is c at first, as the state. (Hochreiter and Schmidhuber, 1997.)
MT_API mt_status mt_lstm(mt_tensor* x, mt_tensor* state, mt_tensor* cell, mt_tensor* weight_ih,
                         mt_tensor* weight_hh, mt_tensor* bias_ih, mt_tensor* bias_hh,
                         mt_tensor** y, mt_tensor** last, mt_tensor** last_cell);

// ------------------------------------------------------------------------------------------ Losses

/// What a loss makes of its elements.
enum { MT_REDUCTION_MEAN = 0, MT_REDUCTION_SUM = 1, MT_REDUCTION_NONE = 2 };

/// -sum(p log_softmax(logits)) along `axis`, the classes: where C++, Python and Java leave it out
/// the last one, -1; in PyTorch 1. `targets` are integers of logits' shape without that axis, or
/// probabilities p of logits' shape. Mean over all but the class axis.
/// MT_EINDEX for a target outside [0, classes); where a trace computes targets itself, a NaN.
MT_API mt_tensor* mt_cross_entropy(mt_tensor* logits, mt_tensor* targets, int64_t axis,
                                   int32_t reduction);

/// How mt_cross_entropy_with() judges.
typedef struct mt_cross_entropy_options {
  size_t struct_size;
  int64_t ignore_index;    ///< a target whose loss is 0 and which the mean leaves out; MT_NO_CLASS
  double label_smoothing;  ///< share of a target that all classes have alike, 0 to 1; 0
} mt_cross_entropy_options;
/// No target at all.
#define MT_NO_CLASS INT64_MIN
#define MT_CROSS_ENTROPY_OPTIONS_INIT \
  { sizeof(mt_cross_entropy_options), MT_NO_CLASS, 0 }

/// mt_cross_entropy() of targets (1 - label_smoothing) p + label_smoothing / classes, each class's
/// part times its `weight` [classes], or NULL. Where targets are integers the mean is the sum by
/// the sum of their weights, as in PyTorch. `options` may be NULL. MT_EINVAL for an ignore_index
/// with targets that are probabilities.
MT_API mt_tensor* mt_cross_entropy_with(mt_tensor* logits, mt_tensor* targets, int64_t axis,
                                        int32_t reduction, mt_tensor* weight,
                                        const mt_cross_entropy_options* options);
/// (x - target)^2. The two broadcast.
MT_API mt_tensor* mt_mse_loss(mt_tensor* x, mt_tensor* target, int32_t reduction);
/// |x - target|. The two broadcast.
MT_API mt_tensor* mt_l1_loss(mt_tensor* x, mt_tensor* target, int32_t reduction);
/// (x - target)^2 / 2 within `delta`, else delta (|x - target| - delta / 2). The two broadcast.
/// (Huber, 1964.)
MT_API mt_tensor* mt_huber_loss(mt_tensor* x, mt_tensor* target, double delta, int32_t reduction);
/// -(t log(sigmoid(x)) + (1 - t) log(1 - sigmoid(x))) for target t, computed without overflow as
/// max(x, 0) - x t + log(1 + e^-|x|). The two broadcast.
MT_API mt_tensor* mt_bce_with_logits(mt_tensor* x, mt_tensor* target, int32_t reduction);
/// The same with w t in the place of the first t, for positives that are rare: w are floats, say
/// one for each class, and all three broadcast. PyTorch calls them `pos_weight`.
MT_API mt_tensor* mt_bce_with_logits_weighted(mt_tensor* x, mt_tensor* target,
                                              mt_tensor* positive_weight, int32_t reduction);

// ------------------------------------------------------------------------------------ Initialisers
// Each rebinds a float tensor to fresh random values, as mt_assign() does; a leaf that requires a
// gradient stays one. `fan_in` and `fan_out` are the inputs and outputs that one output and one
// input of the weight connects to: in and out of [out, in], times the kernel's size of [out, in,
// kernel...]. They need two dimensions (MT_ESHAPE), and numbers that are finite (MT_EINVAL).

/// Uniform in [low, high).
MT_API mt_status mt_init_uniform(mt_tensor* x, double low, double high);
/// Normal.
MT_API mt_status mt_init_normal(mt_tensor* x, double mean, double deviation);
/// Uniform within +- gain sqrt(6 / (fan_in + fan_out)). (Glorot and Bengio, 2010.)
MT_API mt_status mt_init_xavier_uniform(mt_tensor* x, double gain);
/// Normal with deviation gain sqrt(2 / (fan_in + fan_out)).
MT_API mt_status mt_init_xavier_normal(mt_tensor* x, double gain);
/// Uniform within +- sqrt(6 / ((1 + slope^2) fan_in)); slope 0 suits relu. (He and others, 2015,
/// arXiv 1502.01852.)
MT_API mt_status mt_init_kaiming_uniform(mt_tensor* x, double slope);
/// Normal with deviation sqrt(2 / ((1 + slope^2) fan_in)).
MT_API mt_status mt_init_kaiming_normal(mt_tensor* x, double slope);
/// gain times a random matrix [dims[0], rest] whose rows, or columns if fewer, are orthonormal.
/// (Saxe, McClelland and Ganguli, 2014, arXiv 1312.6120.)
MT_API mt_status mt_init_orthogonal(mt_tensor* x, double gain);

// -------------------------------------------------------------------------------- Named parameters

/// Tensors by name, in the order they were added: parameters, which are trained, and buffers, which
/// are only saved. Layers add theirs as "name.weight", "name.bias". Opaque.
typedef struct mt_parameters mt_parameters;

/// An empty collection, in training mode. Layers create their tensors with this type and device.
MT_API mt_parameters* mt_parameters_new(mt_dtype dtype, const char* device);
/// Frees a collection and its layers; tensors live on where others own them. NULL is harmless.
MT_API void mt_parameters_release(mt_parameters* parameters);
/// Adds a float tensor as a parameter: the collection becomes an owner of the handle and marks it
/// with mt_require_grad(). MT_EINVAL when the name is empty, taken, or none that can be saved:
/// UTF-8 other than "__metadata__".
MT_API mt_status mt_parameters_add(mt_parameters* parameters, const char* name, mt_tensor* tensor);
/// Adds a tensor of any type as a buffer.
MT_API mt_status mt_parameters_add_buffer(mt_parameters* parameters, const char* name,
                                          mt_tensor* tensor);
/// Puts `tensor` in the place of the one with this name, whose shape it has (else MT_ESHAPE): its
/// layer uses it from now on, and layers that share a weight train it together. A tensor that a
/// collection has twice is updated and, in norms, counted once. The collection releases the old
/// handle, also one that mt_parameters_get() or mt_parameters_tensor() lent before; traces recorded
/// before go on with the old tensor.
MT_API mt_status mt_parameters_share(mt_parameters* parameters, const char* name,
                                     mt_tensor* tensor);
/// How many tensors there are.
MT_API size_t mt_parameters_count(mt_parameters* parameters);
/// The name of tensor i. Belongs to the collection. MT_EINDEX.
MT_API const char* mt_parameters_name(mt_parameters* parameters, size_t i);
/// Tensor i, borrowed: the collection's own handle. MT_EINDEX.
MT_API mt_tensor* mt_parameters_tensor(mt_parameters* parameters, size_t i);
/// The tensor with a name, borrowed: the collection's own handle. MT_EINVAL when there is none.
MT_API mt_tensor* mt_parameters_get(mt_parameters* parameters, const char* name);
/// Whether tensor i is a buffer. MT_EINDEX.
MT_API bool mt_parameters_is_buffer(mt_parameters* parameters, size_t i);
/// Whether a collection has a tensor with this name. Records no error for a missing one.
MT_API bool mt_parameters_has(mt_parameters* parameters, const char* name);

/// Whether the layers of a collection are in training mode.
MT_API bool mt_parameters_training(mt_parameters* parameters);
/// Switches dropout and batch norm between training (true) and evaluation (false).
MT_API mt_status mt_parameters_set_training(mt_parameters* parameters, bool training);
/// Converts all floats, and the gradients there are, to `dtype`, a float type (0: the types stay),
/// and brings all tensors to `device` (NULL: they stay). Handles stay, as do leaves; all tensors
/// or, on an error, none. Layers to come create theirs so; an optimizer's state follows with its
/// next step. Not inside a trace (MT_ETRACE).
MT_API mt_status mt_parameters_to(mt_parameters* parameters, mt_dtype dtype, const char* device);
/// mt_zero_grad() for all parameters.
MT_API mt_status mt_parameters_zero_grad(mt_parameters* parameters);
/// Writes all tensors to a safetensors file. The file appears whole, under its name, or the old one
/// stays. MT_EIO; MT_EINVAL for a tensor's name that is not UTF-8, or is "__metadata__".
MT_API mt_status mt_parameters_save(mt_parameters* parameters, const char* path);
/// Binds all tensors to the values in a safetensors file, which has the same names (else MT_EIO),
/// shapes and types (else MT_ESHAPE, MT_EDTYPE); nothing changes unless all fit. The
/// num_batches_tracked of PyTorch's batch norms, which nothing here counts, are passed over.
MT_API mt_status mt_parameters_load(mt_parameters* parameters, const char* path);

// ------------------------------------------------------------------------------------------ Layers
// A layer belongs to its collection and is freed with it. `name` is the prefix of its tensors'
// names. Weights begin as in PyTorch: uniform within +- 1 / sqrt(fan_in), biases too; embeddings
// normal; norms with weight 1 and bias 0. MT_EINVAL when a name is taken or a number is impossible.

/// Something that is applied to a tensor. Opaque.
typedef struct mt_layer mt_layer;

/// The layer's result for x.
MT_API mt_tensor* mt_apply(mt_layer* layer, mt_tensor* x);
/// The result of a layer of attention where `query` [..., n, width] sees `value` by `key` [..., m,
/// width], or of a transformer block, which has only its own (NULL, NULL). `mask` broadcasts to
/// [..., heads, n, m]: bool says who may be seen, floats are added. `key` NULL is the query,
/// `value` NULL the key, `mask` NULL none. MT_EINVAL for other layers.
MT_API mt_tensor* mt_apply_attention(mt_layer* layer, mt_tensor* query, mt_tensor* key,
                                     mt_tensor* value, mt_tensor* mask);
/// The result of causal attention, or of a causal transformer block, for those that come next. Row
/// i of x [..., n, width] stands at places[i] and sees what `kept` (mt_kept_zeros()) holds up to
/// there, of which its own keys and values become part: binds handle `kept` to a new value, as
/// mt_assign() does. From place 0 on this gives what mt_apply() gives for all at once, but for
/// rounding, and each call costs as much as its own rows; in a trace, with `places` as an input, it
/// is replayed.
///
/// `places` holds n integers from 0 to context - 1, else MT_EINDEX: when the context is full, begin
/// anew at place 0 with the last of what was read, as the places of all others change. What stands
/// beyond a place is not seen, so `kept` need not be cleared. Gradients reach what was kept as far
/// as `kept` carries a history: generate within MT_NO_GRAD, or each call adds to it. MT_EINVAL for
/// other layers.
MT_API mt_tensor* mt_apply_kept(mt_layer* layer, mt_tensor* x, mt_tensor* kept, mt_tensor* places);
/// Room for the keys and values of `context` places, in sequences of shape `dims`: zeros [2,
/// dims..., heads, context, width / heads]. mt_apply_kept() takes other float types too.
MT_API mt_tensor* mt_kept_zeros(mt_layer* layer, const int64_t* dims, size_t ndim, int64_t context);
/// What a recurrent layer makes of x [batch, n, in] from `states` [layers, batch, hidden] and, for
/// LSTM alone, `cells`, each NULL for zeros: sets y [batch, n, hidden], the last layer's states,
/// and the last states and cells of all layers, as they were given; each may be NULL when it is not
/// wanted. MT_EINVAL for other layers.
MT_API mt_status mt_apply_recurrent(mt_layer* layer, mt_tensor* x, mt_tensor* states,
                                    mt_tensor* cells, mt_tensor** y, mt_tensor** last,
                                    mt_tensor** last_cells);

/// mt_linear() with weight [out_features, in_features] and, if `bias`, bias [out_features].
MT_API mt_layer* mt_layer_linear(mt_parameters* parameters, const char* name, int64_t in_features,
                                 int64_t out_features, bool bias);
/// mt_conv1d() with weight [out_channels, in_channels / groups, kernel]. `options` or NULL.
MT_API mt_layer* mt_layer_conv1d(mt_parameters* parameters, const char* name, int64_t in_channels,
                                 int64_t out_channels, int64_t kernel,
                                 const mt_conv_options* options);
/// mt_conv2d() with weight [out_channels, in_channels / groups, height, width]. `options` or NULL.
MT_API mt_layer* mt_layer_conv2d(mt_parameters* parameters, const char* name, int64_t in_channels,
                                 int64_t out_channels, int64_t height, int64_t width,
                                 const mt_conv_options* options);
/// mt_conv_transpose1d() with weight [in_channels, out_channels / groups, kernel].
/// `options` or NULL.
MT_API mt_layer* mt_layer_conv_transpose1d(mt_parameters* parameters, const char* name,
                                           int64_t in_channels, int64_t out_channels,
                                           int64_t kernel, const mt_conv_options* options);
/// mt_conv_transpose2d() with weight [in_channels, out_channels / groups, height, width].
/// `options` or NULL.
MT_API mt_layer* mt_layer_conv_transpose2d(mt_parameters* parameters, const char* name,
                                           int64_t in_channels, int64_t out_channels,
                                           int64_t height, int64_t width,
                                           const mt_conv_options* options);
/// mt_layer_norm() over last axes of shape `dims`, with weight and bias. Usual epsilon: 1e-5.
MT_API mt_layer* mt_layer_layer_norm(mt_parameters* parameters, const char* name,
                                     const int64_t* dims, size_t ndim, double epsilon);
/// mt_rms_norm() over last axes of shape `dims`, with weight. Usual epsilon: 1e-6.
MT_API mt_layer* mt_layer_rms_norm(mt_parameters* parameters, const char* name, const int64_t* dims,
                                   size_t ndim, double epsilon);
/// mt_group_norm() with weight and bias. `groups` divides `channels`. Usual epsilon: 1e-5.
MT_API mt_layer* mt_layer_group_norm(mt_parameters* parameters, const char* name, int64_t groups,
                                     int64_t channels, double epsilon);
/// mt_batch_norm() with weight and bias, and buffers running_mean (0) and running_var (1). Usual
/// momentum and epsilon: 0.1 and 1e-5.
MT_API mt_layer* mt_layer_batch_norm(mt_parameters* parameters, const char* name, int64_t channels,
                                     double momentum, double epsilon);
/// mt_embedding() with weight [count, size].
MT_API mt_layer* mt_layer_embedding(mt_parameters* parameters, const char* name, int64_t count,
                                    int64_t size);
/// mt_dropout(). It has no tensors and so no name.
MT_API mt_layer* mt_layer_dropout(mt_parameters* parameters, double probability);
/// Self-attention with `heads` heads on [..., n, width]: in_proj_weight [3 width, width] and
/// in_proj_bias make query, key and value, and out_proj.weight [width, width] and out_proj.bias the
/// result. `heads` divides `width`. `options` may be NULL.
MT_API mt_layer* mt_layer_attention(mt_parameters* parameters, const char* name, int64_t width,
                                    int64_t heads, const mt_attention_options* options);

/// Options of mt_layer_transformer().
typedef struct mt_transformer_options {
  size_t struct_size;
  int64_t hidden;          ///< width between the two linear layers; 0 means 4 times the width
  double dropout;          ///< in attention, after it, and in and after the network; 0
  const char* activation;  ///< of a, as mt_expression() takes it; NULL means "relu(a)"
  bool norm_first;         ///< norms before attention and network; else after the sums; true
  bool causal;             ///< a position sees only those up to itself; false
  double epsilon;          ///< of the norms; 1e-5
} mt_transformer_options;
#define MT_TRANSFORMER_OPTIONS_INIT \
  { sizeof(mt_transformer_options), 0, 0, NULL, true, false, 1e-5 }

/// The block that transformers are made of, on [..., n, width]:
///
///     y = x + attention(norm(x)),  y + linear2(activation(linear1(norm(y))))
///
/// with the tensors of layers self_attn, linear1, linear2, norm1 and norm2. `options` may be NULL.
/// (Vaswani and others, 2017; norms first: Xiong and others, 2020, arXiv 2002.04745.)
MT_API mt_layer* mt_layer_transformer(mt_parameters* parameters, const char* name, int64_t width,
                                      int64_t heads, const mt_transformer_options* options);

/// `layers` of mt_rnn(), each reading the states of the one before, from states of zeros: [batch,
/// n, in] gives [batch, n, hidden]. Layer i has weight_ih_li, weight_hh_li and, if `bias`,
/// bias_ih_li and bias_hh_li, all uniform within +- 1 / sqrt(hidden).
MT_API mt_layer* mt_layer_rnn(mt_parameters* parameters, const char* name, int64_t in_features,
                              int64_t hidden, int64_t layers, bool bias);
/// The same of mt_gru().
MT_API mt_layer* mt_layer_gru(mt_parameters* parameters, const char* name, int64_t in_features,
                              int64_t hidden, int64_t layers, bool bias);
/// The same of mt_lstm().
MT_API mt_layer* mt_layer_lstm(mt_parameters* parameters, const char* name, int64_t in_features,
                               int64_t hidden, int64_t layers, bool bias);

#ifdef __cplusplus
}
#endif
#endif
