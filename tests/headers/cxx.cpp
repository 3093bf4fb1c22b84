// SPDX-License-Identifier: Apache-2.0
// The public headers compile as C++11 -pedantic, with every constant and macro as documented.
#include <mtorch/mtorch.h>

#include <cstddef>

#define CHECK(condition) static_assert(condition, #condition);
#include "constants.h"

double use_macros(mt_tensor* x, mt_tensor* mask, int row) {
  mt_conv_options convolution = MT_CONV_OPTIONS_INIT;
  mt_pool_options pool = MT_POOL_OPTIONS_INIT;
  mt_backward_options backward = MT_BACKWARD_OPTIONS_INIT;
  mt_gradient_check_options check = MT_GRADIENT_CHECK_OPTIONS_INIT;
  mt_batch_norm_options norm = MT_BATCH_NORM_OPTIONS_INIT;
  mt_attention_options attention = MT_ATTENTION_OPTIONS_INIT;
  mt_sgd_options sgd = MT_SGD_OPTIONS_INIT;
  mt_adam_options adam = MT_ADAM_OPTIONS_INIT, adamw = MT_ADAMW_OPTIONS_INIT;
  mt_rmsprop_options rmsprop = MT_RMSPROP_OPTIONS_INIT;
  mt_adagrad_options adagrad = MT_ADAGRAD_OPTIONS_INIT;
  mt_memory memory = MT_MEMORY_INIT;
  double result = static_cast<double>(
      convolution.struct_size + pool.struct_size + backward.struct_size + check.struct_size +
      norm.struct_size + attention.struct_size + sgd.struct_size + adam.struct_size +
      adamw.struct_size + rmsprop.struct_size + adagrad.struct_size + memory.struct_size);
  MT_SCOPE {
    MT_NO_GRAD {
      MT_SCOPE { result += mt_item(mt_mean(mt_reshape(x, MT_DIMS(2, -1)), MT_DIMS(0))); }
      x = mt_index(x, MT_INDEX(MT_AT(row), MT_RANGE(MT_OPEN, 5, 2), MT_ALL, MT_ELLIPSIS,
                               MT_NEW_AXIS, MT_BY(mask)));
      if (mt_error()) break;
      if (row) return mt_item(x);
    }
  }
  return result;
}
