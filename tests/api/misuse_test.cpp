// SPDX-License-Identifier: Apache-2.0
// Misuse: a named error, nothing changed, and the process lives on.
#include <cmath>

#include "api/support.h"

namespace {

class Misuse : public Api {
 protected:
  void SetUp() override {
    Api::SetUp();
    x = floats({1, 2, 3, 4, 5, 6}, {2, 3});
  }
  mt_tensor* x = nullptr;
};

TEST_F(Misuse, Null) {
  EXPECT_EQ(mt_add(x, nullptr), nullptr);
  EXPECT_TRUE(failed_with(MT_ENULL, "add"));
  EXPECT_EQ(mt_ndim(nullptr), 0u);
  EXPECT_TRUE(failed_with(MT_ENULL, "ndim"));
  EXPECT_EQ(mt_dim(nullptr, 0), -1);
  EXPECT_TRUE(failed_with(MT_ENULL, "dim"));
  EXPECT_TRUE(std::isnan(mt_item(nullptr)));
  EXPECT_TRUE(failed_with(MT_ENULL, "item"));
  EXPECT_EQ(mt_item_int(nullptr), 0);
  EXPECT_TRUE(failed_with(MT_ENULL, "item_int"));
  EXPECT_EQ(mt_map(nullptr), nullptr);
  EXPECT_TRUE(failed_with(MT_ENULL, "map"));
  EXPECT_EQ(mt_to_string(nullptr), nullptr);
  EXPECT_TRUE(failed_with(MT_ENULL, "to_string"));
  EXPECT_EQ(mt_retain(nullptr), nullptr);
  EXPECT_TRUE(failed_with(MT_ENULL, "retain"));
  EXPECT_EQ(mt_take(nullptr), nullptr);
  EXPECT_TRUE(failed_with(MT_ENULL, "take"));
  EXPECT_EQ(mt_zeros(nullptr, 2, MT_F32, nullptr), nullptr);
  EXPECT_TRUE(failed_with(MT_ENULL, "zeros"));
  EXPECT_EQ(mt_sgd(nullptr, 1, 0.1), MT_ENULL);
  EXPECT_TRUE(failed_with(MT_ENULL, "sgd"));
  mt_tensor* params[] = {x, nullptr};
  EXPECT_EQ(mt_sgd(params, 2, 0.1), MT_ENULL);
  EXPECT_TRUE(failed_with(MT_ENULL, "sgd"));
  EXPECT_EQ(mt_zero_grad(params, 2), MT_ENULL);
  EXPECT_TRUE(failed_with(MT_ENULL, "zero_grad"));
  EXPECT_EQ(mt_eval(params, 2), MT_ENULL);
  EXPECT_TRUE(failed_with(MT_ENULL, "eval"));
  EXPECT_EQ(mt_copy_to_host(x, nullptr, 24), MT_ENULL);
  EXPECT_TRUE(failed_with(MT_ENULL, "copy_to_host"));
  EXPECT_EQ(mt_from_data(nullptr, MT_DIMS(2), MT_F32, nullptr), nullptr);
  EXPECT_TRUE(failed_with(MT_ENULL, "from_data"));
  EXPECT_EQ(mt_memory_read("cpu", nullptr), MT_ENULL);
  EXPECT_TRUE(failed_with(MT_ENULL, "memory_read"));
  EXPECT_EQ(mt_gradient(nullptr), nullptr);
  EXPECT_TRUE(failed_with(MT_ENULL, "gradient"));
  mt_release(nullptr);
  mt_unmap(nullptr);
  mt_scope_end(nullptr);
  mt_free_string(nullptr);
  mt_tape_release(nullptr);
}

TEST_F(Misuse, Shapes) {
  EXPECT_EQ(mt_add(x, floats({1, 2})), nullptr);
  EXPECT_TRUE(failed_with(MT_ESHAPE, "add: shapes [2,3] and [2]"));
  EXPECT_EQ(mt_matmul(x, x), nullptr);
  EXPECT_TRUE(failed_with(MT_ESHAPE, "matmul: [2,3] x [2,3]"));
  EXPECT_EQ(mt_reshape(x, MT_DIMS(4, 2)), nullptr);
  EXPECT_TRUE(failed_with(MT_ESHAPE, "reshape"));
  EXPECT_EQ(mt_reshape(x, MT_DIMS(-1, -1)), nullptr);
  EXPECT_TRUE(failed_with(MT_ESHAPE, "reshape"));
  EXPECT_EQ(mt_reshape(x, MT_DIMS(-1, 4)), nullptr);
  EXPECT_TRUE(failed_with(MT_ESHAPE, "reshape"));
  EXPECT_EQ(mt_broadcast_to(x, MT_DIMS(3, 3)), nullptr);
  EXPECT_TRUE(failed_with(MT_ESHAPE));
  EXPECT_EQ(mt_squeeze(x, MT_DIMS(0)), nullptr);
  EXPECT_TRUE(failed_with(MT_ESHAPE, "squeeze"));
  EXPECT_EQ(mt_matrix_transpose(floats({1})), nullptr);
  EXPECT_TRUE(failed_with(MT_ESHAPE));
  EXPECT_EQ(mt_window(x, 1, 4, 1, 1), nullptr);
  EXPECT_TRUE(failed_with(MT_ESHAPE, "window"));
  EXPECT_TRUE(std::isnan(mt_item(x)));
  EXPECT_TRUE(failed_with(MT_ESHAPE, "item"));
  float buffer[6];
  EXPECT_EQ(mt_copy_to_host(x, buffer, 20), MT_ESHAPE);
  EXPECT_TRUE(failed_with(MT_ESHAPE, "copy_to_host"));
  EXPECT_EQ(mt_assign(x, floats({1})), MT_ESHAPE);
  EXPECT_TRUE(failed_with(MT_ESHAPE, "assign"));
  mt_tensor* w = mt_require_grad(floats({1, 2}));
  EXPECT_EQ(mt_backward(mt_square(w)), MT_ESHAPE);
  EXPECT_TRUE(failed_with(MT_ESHAPE, "backward"));
  EXPECT_EQ(mt_set_gradient(w, floats({1})), MT_ESHAPE);
  EXPECT_TRUE(failed_with(MT_ESHAPE, "set_gradient"));
  EXPECT_EQ(numbers_of(x), Numbers({1, 2, 3, 4, 5, 6}));
}

TEST_F(Misuse, SizesThatAreNoneOrTooLarge) {
  EXPECT_EQ(mt_zeros(MT_DIMS(2, -1), MT_F32, nullptr), nullptr);
  EXPECT_TRUE(failed_with(MT_ESHAPE, "zeros"));
  EXPECT_EQ(mt_zeros(MT_DIMS(INT64_MAX, 2), MT_F32, nullptr), nullptr);
  EXPECT_TRUE(failed_with(MT_ESHAPE, "zeros"));
  EXPECT_EQ(mt_full(MT_DIMS(INT64_MAX / 2), 1, MT_F64, nullptr), nullptr);
  EXPECT_TRUE(failed_with(MT_ESHAPE, "full"));
  int64_t many[17] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  EXPECT_EQ(mt_ones(many, 17, MT_F32, nullptr), nullptr);
  EXPECT_TRUE(failed_with(MT_ESHAPE, "ones"));
  EXPECT_EQ(mt_expand_dims(mt_ones(many, 16, MT_F32, nullptr), 0), nullptr);
  EXPECT_TRUE(failed_with(MT_ESHAPE, "expand_dims"));
  EXPECT_EQ(mt_broadcast_to(x, MT_DIMS(INT64_MAX / 4, 2, 3)), nullptr);
  EXPECT_TRUE(failed_with(MT_ESHAPE, "broadcast_to"));
  EXPECT_EQ(mt_eye(-1, 2, 0, MT_F32, nullptr), nullptr);
  EXPECT_TRUE(failed_with(MT_ESHAPE, "eye"));
  // As many bytes can be addressed, but no positions of as many diagonals.
  EXPECT_EQ(mt_eye(INT64_C(1) << 60, 1, 0, MT_U8, nullptr), nullptr);
  EXPECT_TRUE(failed_with(MT_ESHAPE, "eye"));
  EXPECT_EQ(mt_tril(mt_broadcast_to(mt_zeros(MT_DIMS(1, 1), MT_U8, nullptr),
                                    MT_DIMS(INT64_C(1) << 60, 1)),
                    -1),
            nullptr);
  EXPECT_TRUE(failed_with(MT_ESHAPE, "tril"));
  EXPECT_EQ(mt_linspace(0, 1, -2, MT_F32, nullptr), nullptr);
  EXPECT_TRUE(failed_with(MT_EINVAL, "linspace"));
}

TEST_F(Misuse, Types) {
  EXPECT_EQ(mt_zeros(MT_DIMS(1), 42, nullptr), nullptr);
  EXPECT_TRUE(failed_with(MT_EINVAL, "zeros"));
  EXPECT_EQ(mt_dtype_name(42), nullptr);
  EXPECT_TRUE(failed_with(MT_EINVAL, "dtype_name"));
  EXPECT_EQ(mt_bitwise_and(x, x), nullptr);
  EXPECT_TRUE(failed_with(MT_EDTYPE, "bitwise_and"));
  mt_tensor* yes = mt_ones(MT_DIMS(2), MT_BOOL, nullptr);
  EXPECT_EQ(mt_add(yes, yes), nullptr);
  EXPECT_TRUE(failed_with(MT_EDTYPE, "add"));
  EXPECT_EQ(mt_promote_types(MT_U64, MT_I8), 0);
  EXPECT_TRUE(failed_with(MT_EDTYPE, "promote_types"));
  EXPECT_EQ(mt_require_grad(yes), nullptr);
  EXPECT_TRUE(failed_with(MT_EDTYPE, "require_grad"));
  EXPECT_EQ(mt_item_int(floats({1})), 0);
  EXPECT_TRUE(failed_with(MT_EDTYPE, "item_int"));
  EXPECT_EQ(mt_assign(x, mt_zeros(MT_DIMS(2, 3), MT_F64, nullptr)), MT_EDTYPE);
  EXPECT_TRUE(failed_with(MT_EDTYPE, "assign"));
  EXPECT_EQ(mt_linspace(0, 1, 3, MT_I32, nullptr), nullptr);
  EXPECT_TRUE(failed_with(MT_EDTYPE, "linspace"));
  EXPECT_EQ(mt_one_hot(x, 3, MT_F32), nullptr);
  EXPECT_TRUE(failed_with(MT_EDTYPE, "one_hot"));
}

TEST_F(Misuse, Axes) {
  EXPECT_EQ(mt_sum(x, MT_DIMS(2)), nullptr);
  EXPECT_TRUE(failed_with(MT_EINDEX, "sum"));
  EXPECT_EQ(mt_sum(x, MT_DIMS(-3)), nullptr);
  EXPECT_TRUE(failed_with(MT_EINDEX, "sum"));
  EXPECT_EQ(mt_sum(x, MT_DIMS(INT64_MIN)), nullptr);
  EXPECT_TRUE(failed_with(MT_EINDEX, "sum"));
  EXPECT_EQ(mt_sum(x, MT_DIMS(0, -2)), nullptr);
  EXPECT_TRUE(failed_with(MT_EINVAL, "sum"));
  EXPECT_EQ(mt_permute_dims(x, MT_DIMS(0, 0)), nullptr);
  EXPECT_TRUE(failed_with(MT_EINVAL, "permute"));
  EXPECT_EQ(mt_transpose(x, 0, 2), nullptr);
  EXPECT_TRUE(failed_with(MT_EINDEX, "transpose"));
  EXPECT_EQ(mt_dim(x, 2), -1);
  EXPECT_TRUE(failed_with(MT_EINDEX, "dim"));
  EXPECT_EQ(mt_expand_dims(x, 4), nullptr);
  EXPECT_TRUE(failed_with(MT_EINDEX, "expand_dims"));
  EXPECT_EQ(mt_window(x, INT64_MAX, 1, 1, 1), nullptr);
  EXPECT_TRUE(failed_with(MT_EINDEX, "window"));
  EXPECT_EQ(mt_max(mt_zeros(MT_DIMS(0, 3), MT_F32, nullptr), MT_DIMS(0)), nullptr);
  EXPECT_TRUE(failed_with(MT_EINVAL, "max"));
}

TEST_F(Misuse, Devices) {
  EXPECT_EQ(mt_zeros(MT_DIMS(1), MT_F32, "tpu"), nullptr);
  EXPECT_TRUE(failed_with(MT_EDEVICE, "tpu"));
  EXPECT_EQ(mt_add(x, mt_to_device(x, "cpu:reference")), nullptr);
  EXPECT_TRUE(failed_with(MT_EDEVICE, "add"));
  EXPECT_EQ(mt_assign(x, mt_to_device(x, "cpu:reference")), MT_EDEVICE);
  EXPECT_TRUE(failed_with(MT_EDEVICE, "assign"));
  EXPECT_EQ(mt_set_default_device("gpu"), MT_EDEVICE);
  EXPECT_TRUE(failed_with(MT_EDEVICE, "gpu"));
  EXPECT_STREQ(mt_default_device(), "cpu");
  EXPECT_EQ(mt_set_threads(0), MT_EINVAL);
  EXPECT_TRUE(failed_with(MT_EINVAL, "set_threads"));
  EXPECT_EQ(mt_set_memory_limit("cpu", -1), MT_EINVAL);
  EXPECT_TRUE(failed_with(MT_EINVAL, "set_memory_limit"));
}

TEST_F(Misuse, Numbers) {
  EXPECT_EQ(mt_arange(0, 1, 0, MT_F32, nullptr), nullptr);
  EXPECT_TRUE(failed_with(MT_EINVAL, "arange"));
  EXPECT_EQ(mt_arange(0, INFINITY, 1, MT_F32, nullptr), nullptr);
  EXPECT_TRUE(failed_with(MT_EINVAL, "arange"));
  EXPECT_EQ(mt_arange(0, 1e300, 1, MT_F32, nullptr), nullptr);
  EXPECT_TRUE(failed_with(MT_ESHAPE, "arange"));
  EXPECT_EQ(mt_arange(0, 2e18, 1, MT_F64, nullptr), nullptr);
  EXPECT_TRUE(failed_with(MT_ESHAPE));
  alignas(8) char bytes[16] = {};
  EXPECT_EQ(mt_wrap(bytes + 1, MT_DIMS(2), MT_F32, nullptr, nullptr, nullptr), nullptr);
  EXPECT_TRUE(failed_with(MT_EINVAL, "wrap"));
}

TEST_F(Misuse, NumbersThatAreNotFinite) {
  mt_tensor* w = mt_require_grad(floats({1, 2}));
  for (double rate : {-0.1, double{NAN}, double{INFINITY}}) {
    EXPECT_EQ(mt_sgd(&w, 1, rate), MT_EINVAL);
    EXPECT_TRUE(failed_with(MT_EINVAL, "sgd: a learning rate of "));
  }
  mt_status (*const initialize[])(mt_tensor*, double) = {
      mt_init_xavier_uniform, mt_init_xavier_normal, mt_init_kaiming_uniform,
      mt_init_kaiming_normal, mt_init_orthogonal};
  for (auto* begin : initialize) {
    EXPECT_EQ(begin(x, NAN), MT_EINVAL);
    EXPECT_TRUE(failed_with(MT_EINVAL, " of nan is not finite"));
    EXPECT_EQ(begin(x, -INFINITY), MT_EINVAL);
    EXPECT_TRUE(failed_with(MT_EINVAL, " of -inf is not finite"));
    EXPECT_EQ(begin(x, -1), MT_OK);
  }
}

TEST_F(Misuse, Gradients) {
  EXPECT_EQ(mt_backward(mt_sum(x, nullptr, 0)), MT_ENOGRAD);
  EXPECT_TRUE(failed_with(MT_ENOGRAD, "backward"));
  mt_tensor* w = mt_require_grad(floats({1, 2}));
  EXPECT_EQ(mt_backward(mt_sum(mt_floor_divide(w, w), nullptr, 0)), MT_ENOGRAD);
  EXPECT_TRUE(failed_with(MT_ENOGRAD, "floor_divide"));
  mt_tensor* y = mt_square(w);
  EXPECT_EQ(mt_require_grad(y), nullptr);
  EXPECT_TRUE(failed_with(MT_EINVAL, "square"));
  EXPECT_EQ(mt_assign(w, y), MT_EINVAL);
  EXPECT_TRUE(failed_with(MT_EINVAL, "assign"));
  const mt_index_item first[] = {MT_AT(0)};
  EXPECT_EQ(mt_index_put(w, first, 1, mt_sum(y, nullptr, 0)), MT_EINVAL);
  EXPECT_TRUE(failed_with(MT_EINVAL, "index_put: a leaf"));
  mt_tensor* small = mt_zeros(MT_DIMS(2), MT_I8, nullptr);
  EXPECT_EQ(mt_index_put(small, first, 1, mt_whole_number(300)), MT_EINVAL);
  EXPECT_TRUE(failed_with(MT_EINVAL, "index_put: the number 300 does not fit into int8"));
  EXPECT_EQ(numbers_of(w), Numbers({1, 2}));
  EXPECT_EQ(mt_set_gradient(x, x), MT_EINVAL);
  EXPECT_TRUE(failed_with(MT_EINVAL, "set_gradient"));
  EXPECT_EQ(mt_sgd(&y, 1, 0.1), MT_EINVAL);
  EXPECT_TRUE(failed_with(MT_EINVAL, "sgd"));
  mt_tensor* result = x;
  EXPECT_EQ(mt_grad(&y, 1, &x, 1, nullptr, &result), MT_ENOGRAD);
  EXPECT_EQ(result, nullptr);
  EXPECT_TRUE(failed_with(MT_ENOGRAD, "grad"));
  mt_tensor* loss = mt_sum(y, nullptr, 0);
  EXPECT_EQ(mt_backward(loss), MT_OK);
  EXPECT_EQ(mt_backward(loss), MT_ENOGRAD);
  EXPECT_TRUE(failed_with(MT_ENOGRAD, "forgotten"));
  EXPECT_EQ(mt_backward(mt_sum(mt_mul(y, w), nullptr, 0)), MT_ENOGRAD);
  EXPECT_TRUE(failed_with(MT_ENOGRAD, "square"));
  EXPECT_EQ(numbers_of(mt_gradient(w)), Numbers({2, 4}));
}

TEST_F(Misuse, OutOfMemory) {
  mt_tensor* y = mt_sum(mt_square(x), MT_DIMS(1));
  mt_eval(&y, 1);
  ASSERT_EQ(mt_set_memory_limit("cpu", used_bytes() + 1000), MT_OK);
  mt_tensor* large = mt_add(mt_zeros(MT_DIMS(1000, 1000), MT_F32, nullptr), mt_sum(y, nullptr, 0));
  EXPECT_EQ(mt_map(large), nullptr);
  EXPECT_TRUE(failed_with(MT_ENOMEM, "could not be had within the limit of "));
  const std::vector<float> data(1000);
  EXPECT_EQ(mt_from_data(data.data(), MT_DIMS(1000), MT_F32, nullptr), nullptr);
  EXPECT_TRUE(failed_with(MT_ENOMEM,
                          "from_data: out of memory: 4000 bytes on cpu could not be had "
                          "within the limit of "));
  EXPECT_EQ(mt_from_data(nullptr, MT_DIMS(0), MT_F32, nullptr) != nullptr, true);
  EXPECT_EQ(mt_set_memory_limit("cpu", 0), MT_OK);
  const float* values = static_cast<const float*>(mt_map(large));  // still pending, now it fits
  ASSERT_NE(values, nullptr);
  EXPECT_EQ(values[999999], 91);
  mt_unmap(large);
}

mt_status reads_a_value(void*, mt_tensor* const* inputs, size_t, mt_tensor** results, size_t) {
  mt_item(mt_sum(inputs[0], nullptr, 0));
  results[0] = inputs[0];
  return MT_OK;
}

TEST_F(Misuse, ReadingInsideATrace) {
  mt_trace* trace = mt_trace_new(reads_a_value, nullptr);
  mt_tensor* result = x;
  EXPECT_EQ(mt_trace_call(trace, &x, 1, &result, 1), MT_ETRACE);
  EXPECT_EQ(result, nullptr);
  EXPECT_TRUE(failed_with(MT_ETRACE, "trace"));
  mt_trace_release(trace);
}

struct Nested {
  mt_trace* trace;
  int left;
};
mt_status calls_itself(void* user, mt_tensor* const* inputs, size_t, mt_tensor** results, size_t) {
  auto* nested = static_cast<Nested*>(user);
  if (nested->left-- == 0) {
    results[0] = inputs[0];
    return MT_OK;
  }
  mt_tensor* more = mt_add(inputs[0], mt_number(1));
  return mt_trace_call(nested->trace, &more, 1, results, 1);
}

TEST_F(Misuse, ATraceThatCallsItself) {
  Nested nested{nullptr, 100};
  nested.trace = mt_trace_new(calls_itself, &nested);
  mt_tensor* one = floats({1});
  mt_tensor* result = nullptr;
  ASSERT_EQ(mt_trace_call(nested.trace, &one, 1, &result, 1), MT_OK);
  EXPECT_EQ(mt_item(result), 101);
  nested.left = 1000000;
  EXPECT_EQ(mt_trace_call(nested.trace, &x, 1, &result, 1), MT_ETRACE);
  EXPECT_EQ(result, nullptr);
  EXPECT_TRUE(failed_with(MT_ETRACE,
                          "trace: in the callback: trace: the traced function calls "
                          "its own trace, 100 times within one call"));
  nested.left = 1;
  EXPECT_EQ(mt_trace_call(nested.trace, &x, 1, &result, 1), MT_OK);
  mt_trace_release(nested.trace);
}

mt_status fails(void*, mt_tensor* const*, size_t, mt_tensor**, size_t) {
  return mt_set_error(MT_EUSER, "not today");
}
mt_status does_nothing(void*, mt_tensor* const*, size_t, mt_tensor**, size_t) { return MT_OK; }

TEST_F(Misuse, CallbacksThatFail) {
  for (mt_function function : {fails, does_nothing}) {
    mt_operator operation = {sizeof(mt_operator), "odd", function, nullptr, nullptr, nullptr};
    mt_tensor* result = x;
    EXPECT_EQ(mt_custom(&operation, &x, 1, &result, 1), MT_EUSER);
    EXPECT_EQ(result, nullptr);
    EXPECT_TRUE(failed_with(MT_EUSER, "odd"));
    EXPECT_EQ(mt_checkpoint(function, nullptr, &x, 1, &result, 1), MT_EUSER);
    EXPECT_TRUE(failed_with(MT_EUSER, "checkpoint"));
    mt_tensor* wide = mt_astype(x, MT_F64);
    EXPECT_EQ(mt_gradient_check(function, nullptr, &wide, 1, nullptr), MT_EUSER);
    EXPECT_TRUE(failed_with(MT_EUSER, "gradient_check"));
    mt_trace* trace = mt_trace_new(function, nullptr);
    EXPECT_EQ(mt_trace_call(trace, &x, 1, &result, 1), MT_EUSER);
    EXPECT_TRUE(failed_with(MT_EUSER, "trace"));
    mt_trace_release(trace);
  }
}

TEST_F(Misuse, Maps) {
  mt_unmap(x);
  EXPECT_TRUE(failed_with(MT_EINVAL, "unmap"));
}

// What nobody has filled in is no options.
TEST_F(Misuse, OptionsWithoutTheirSize) {
  mt_tensor* image = mt_ones(MT_DIMS(1, 1, 3, 3), MT_F32, nullptr);
  mt_conv_options convolution{};
  convolution.padding[0] = 1;
  EXPECT_EQ(mt_conv2d(image, image, nullptr, &convolution), nullptr);
  EXPECT_TRUE(failed_with(MT_EINVAL, "conv2d: struct_size is 0"));
  mt_batch_norm_options norm{};
  EXPECT_EQ(mt_batch_norm(x, nullptr, nullptr, nullptr, nullptr, &norm), nullptr);
  EXPECT_TRUE(failed_with(MT_EINVAL, "batch_norm: struct_size is 0"));
  mt_memory memory{};
  EXPECT_EQ(mt_memory_read("cpu", &memory), MT_EINVAL);
  EXPECT_TRUE(failed_with(MT_EINVAL, "memory_read: struct_size is 0"));
  mt_kernel_definition kernel{};
  EXPECT_EQ(mt_kernel_new(&kernel), nullptr);
  EXPECT_TRUE(failed_with(MT_EINVAL, "kernel_new: struct_size is 0"));

  mt_parameters* parameters = mt_parameters_new(MT_F32, nullptr);
  mt_adam_options adam{};
  EXPECT_EQ(mt_optimizer_adam(parameters, 0.1, &adam), nullptr);
  EXPECT_TRUE(failed_with(MT_EINVAL, "optimizer_adam: struct_size is 0"));
  adam.struct_size = sizeof adam;
  EXPECT_EQ(mt_optimizer_adam(parameters, 0.1, &adam), nullptr);
  EXPECT_TRUE(failed_with(MT_EINVAL, "adam: epsilon cannot be 0"));
  mt_parameters_release(parameters);
}

// Whatever operators it is made of.
TEST_F(Misuse, MessagesBeginWithTheFunction) {
  mt_tensor *ones = mt_ones(MT_DIMS(2), MT_F32, nullptr),
            *elsewhere = mt_to_device(mt_zeros(MT_DIMS(1), MT_I64, nullptr), "cpu:reference");
  EXPECT_EQ(mt_broadcast_to(x, MT_DIMS(2, 2)), nullptr);
  EXPECT_TRUE(failed_with(MT_ESHAPE, "broadcast_to: "));
  EXPECT_EQ(mt_mse_loss(x, ones, MT_REDUCTION_MEAN), nullptr);
  EXPECT_TRUE(failed_with(MT_ESHAPE, "mse_loss: "));
  EXPECT_EQ(mt_clip(x, ones, nullptr), nullptr);
  EXPECT_TRUE(failed_with(MT_ESHAPE, "clip: "));
  EXPECT_EQ(mt_embedding(mt_full(nullptr, 0, 7, MT_I64, nullptr), x), nullptr);
  EXPECT_TRUE(failed_with(MT_EINDEX, "embedding: "));
  const mt_index_item item = MT_BY(elsewhere);
  EXPECT_EQ(mt_index(x, &item, 1), nullptr);
  EXPECT_TRUE(failed_with(MT_EDEVICE, "index: operands lie on"));
  // A layer's is that of what it does.
  mt_parameters* parameters = mt_parameters_new(MT_F32, nullptr);
  EXPECT_EQ(mt_apply(mt_layer_linear(parameters, "only", 2, 1, true), x), nullptr);
  EXPECT_TRUE(failed_with(MT_ESHAPE, "linear: "));
  mt_parameters_release(parameters);
}

TEST_F(Misuse, Tapes) {
  mt_tape* tape = mt_tape_begin();
  mt_tensor* y = mt_square(x);
  mt_tape_end(tape);
  EXPECT_EQ(mt_tape_operator(tape, 9), nullptr);
  EXPECT_TRUE(failed_with(MT_EINDEX, "tape"));
  EXPECT_EQ(mt_tape_tensor(tape, 2), nullptr);
  EXPECT_TRUE(failed_with(MT_EINDEX, "tape"));
  mt_tensor* other = floats({1});
  mt_tensor* result = nullptr;
  EXPECT_EQ(mt_tape_gradient(tape, y, &other, 1, &result), MT_EINVAL);
  EXPECT_TRUE(failed_with(MT_EINVAL, "not on the tape"));
  EXPECT_EQ(mt_tape_replay(tape, &x, 1, &other, &y, 1, &result), MT_ESHAPE);
  EXPECT_TRUE(failed_with(MT_ESHAPE, "tape_replay"));
  mt_tape_release(tape);
}

TEST_F(Misuse, SizesThatOverflow) {
  mt_tensor* tall = mt_broadcast_to(mt_number(1), MT_DIMS(int64_t{1} << 32, 1));
  mt_tensor* wide = mt_broadcast_to(mt_number(1), MT_DIMS(1, int64_t{1} << 32));
  EXPECT_EQ(mt_add(tall, wide), nullptr);
  EXPECT_TRUE(failed_with(MT_ESHAPE, "add"));
  EXPECT_EQ(mt_window(x, 1, 5, 1, int64_t{1} << 62), nullptr);
  EXPECT_TRUE(failed_with(MT_ESHAPE, "window"));
}

}  // namespace
