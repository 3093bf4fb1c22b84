// SPDX-License-Identifier: Apache-2.0
// The public constants and structures as compiled programs know them. A line here may be added,
// never changed. The including file defines CHECK(condition).

CHECK(MT_MAKE_VERSION(1, 2, 3) == 1002003)
CHECK(MT_VERSION == MT_MAKE_VERSION(0, 1, 0))

// Codes.
CHECK(sizeof(mt_status) == 4)
CHECK(MT_OK == 0)
CHECK(MT_EINVAL == -1)
CHECK(MT_ESHAPE == -2)
CHECK(MT_EDTYPE == -3)
CHECK(MT_ENOMEM == -4)
CHECK(MT_EDEVICE == -5)
CHECK(MT_EUSER == -6)
CHECK(MT_ENULL == -7)
CHECK(MT_ENOGRAD == -8)
CHECK(MT_EIO == -9)
CHECK(MT_EINDEX == -10)
CHECK(MT_ETRACE == -11)
CHECK(MT_EUNSUPPORTED == -12)

// Element types: DLPack's kind (0 int, 1 uint, 2 float, 4 bfloat, 6 bool), bits, one lane.
#define DLPACK(kind, bits) ((kind) | (bits) << 8 | 1 << 16)
CHECK(sizeof(mt_dtype) == 4)
CHECK(MT_BOOL == DLPACK(6, 8))
CHECK(MT_U8 == DLPACK(1, 8))
CHECK(MT_U16 == DLPACK(1, 16))
CHECK(MT_U32 == DLPACK(1, 32))
CHECK(MT_U64 == DLPACK(1, 64))
CHECK(MT_I8 == DLPACK(0, 8))
CHECK(MT_I16 == DLPACK(0, 16))
CHECK(MT_I32 == DLPACK(0, 32))
CHECK(MT_I64 == DLPACK(0, 64))
CHECK(MT_F16 == DLPACK(2, 16))
CHECK(MT_BF16 == DLPACK(4, 16))
CHECK(MT_F32 == DLPACK(2, 32))
CHECK(MT_F64 == DLPACK(2, 64))

// Index items and reductions of losses.
CHECK(MT_OPEN == INT64_MIN)
CHECK(MT_INDEX_AT == 0)
CHECK(MT_INDEX_RANGE == 1)
CHECK(MT_INDEX_NEW_AXIS == 2)
CHECK(MT_INDEX_ELLIPSIS == 3)
CHECK(MT_INDEX_BY == 4)
CHECK(MT_REDUCTION_MEAN == 0)
CHECK(MT_REDUCTION_SUM == 1)
CHECK(MT_REDUCTION_NONE == 2)

// Structures, where pointers have 64 bits: the offset of each member. Members may be added at the
// end of those that begin with struct_size.
#if UINTPTR_MAX == UINT64_MAX
CHECK(sizeof(mt_index_item) == 40)
CHECK(offsetof(mt_index_item, kind) == 0)
CHECK(offsetof(mt_index_item, reserved) == 4)
CHECK(offsetof(mt_index_item, start) == 8)
CHECK(offsetof(mt_index_item, stop) == 16)
CHECK(offsetof(mt_index_item, step) == 24)
CHECK(offsetof(mt_index_item, tensor) == 32)

CHECK(sizeof(mt_conv_options) == 120)
CHECK(offsetof(mt_conv_options, stride) == 8)
CHECK(offsetof(mt_conv_options, padding) == 32)
CHECK(offsetof(mt_conv_options, dilation) == 56)
CHECK(offsetof(mt_conv_options, output_padding) == 80)
CHECK(offsetof(mt_conv_options, groups) == 104)
CHECK(offsetof(mt_conv_options, bias) == 112)

CHECK(sizeof(mt_pool_options) == 88)
CHECK(offsetof(mt_pool_options, stride) == 8)
CHECK(offsetof(mt_pool_options, padding) == 32)
CHECK(offsetof(mt_pool_options, dilation) == 56)
CHECK(offsetof(mt_pool_options, exclude_padding) == 80)

CHECK(sizeof(mt_backward_options) == 16)
CHECK(offsetof(mt_backward_options, retain) == 8)
CHECK(offsetof(mt_backward_options, differentiable) == 9)

CHECK(sizeof(mt_operator) == 48)
CHECK(offsetof(mt_operator, name) == 8)
CHECK(offsetof(mt_operator, forward) == 16)
CHECK(offsetof(mt_operator, backward) == 24)
CHECK(offsetof(mt_operator, destroy) == 32)
CHECK(offsetof(mt_operator, user) == 40)

CHECK(sizeof(mt_gradient_check_options) == 40)
CHECK(offsetof(mt_gradient_check_options, step) == 8)
CHECK(offsetof(mt_gradient_check_options, relative) == 16)
CHECK(offsetof(mt_gradient_check_options, absolute) == 24)
CHECK(offsetof(mt_gradient_check_options, order) == 32)

CHECK(sizeof(mt_batch_norm_options) == 32)
CHECK(offsetof(mt_batch_norm_options, training) == 8)
CHECK(offsetof(mt_batch_norm_options, momentum) == 16)
CHECK(offsetof(mt_batch_norm_options, epsilon) == 24)

CHECK(sizeof(mt_attention_options) == 40)
CHECK(offsetof(mt_attention_options, causal) == 8)
CHECK(offsetof(mt_attention_options, scale) == 16)
CHECK(offsetof(mt_attention_options, dropout) == 24)
CHECK(offsetof(mt_attention_options, training) == 32)
CHECK(offsetof(mt_attention_options, bias) == 33)

CHECK(sizeof(mt_sgd_options) == 40)
CHECK(offsetof(mt_sgd_options, momentum) == 8)
CHECK(offsetof(mt_sgd_options, dampening) == 16)
CHECK(offsetof(mt_sgd_options, weight_decay) == 24)
CHECK(offsetof(mt_sgd_options, nesterov) == 32)

CHECK(sizeof(mt_adam_options) == 40)
CHECK(offsetof(mt_adam_options, beta1) == 8)
CHECK(offsetof(mt_adam_options, beta2) == 16)
CHECK(offsetof(mt_adam_options, epsilon) == 24)
CHECK(offsetof(mt_adam_options, weight_decay) == 32)

CHECK(sizeof(mt_rmsprop_options) == 40)
CHECK(offsetof(mt_rmsprop_options, smoothing) == 8)
CHECK(offsetof(mt_rmsprop_options, epsilon) == 16)
CHECK(offsetof(mt_rmsprop_options, momentum) == 24)
CHECK(offsetof(mt_rmsprop_options, weight_decay) == 32)

CHECK(sizeof(mt_adagrad_options) == 32)
CHECK(offsetof(mt_adagrad_options, epsilon) == 8)
CHECK(offsetof(mt_adagrad_options, initial) == 16)
CHECK(offsetof(mt_adagrad_options, weight_decay) == 24)

CHECK(sizeof(mt_memory) == 48)
CHECK(offsetof(mt_memory, used) == 8)
CHECK(offsetof(mt_memory, peak) == 16)
CHECK(offsetof(mt_memory, cached) == 24)
CHECK(offsetof(mt_memory, limit) == 32)
CHECK(offsetof(mt_memory, allocations) == 40)
#endif
