// SPDX-License-Identifier: Apache-2.0
// Matrix products.
#include <stddef.h>

#include "rows.h"

static mt_tensor* product(mt_tensor** in) { return mt_matmul(in[0], in[1]); }
static mt_tensor* transposed_a(mt_tensor** in) {
  return mt_matmul(mt_transpose(in[0], 0, 1), in[1]);
}
static mt_tensor* transposed_b(mt_tensor** in) {
  return mt_matmul(in[0], mt_transpose(in[1], 0, 1));
}

const row matrix_rows[] = {
    {.name = "matmul", .value = product},
    {.name = "matmul_at_b", .value = transposed_a},
    {.name = "matmul_a_bt", .value = transposed_b},
    {0},
};
