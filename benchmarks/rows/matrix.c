// SPDX-License-Identifier: Apache-2.0
// Contractions: matrix products however they are written, and Einstein sums.
#include "rows.h"

static mt_tensor* product(mt_tensor** in) { return mt_matmul(in[0], in[1]); }
static mt_tensor* product_in(int precision, mt_tensor** in) {
  mt_set_matmul_precision(precision);
  mt_tensor* y = product(in);
  mt_set_matmul_precision(MT_PRECISION_STRICT);
  return y;
}
static mt_tensor* product_split(mt_tensor** in) { return product_in(MT_PRECISION_SPLIT, in); }
static mt_tensor* product_bf16(mt_tensor** in) { return product_in(MT_PRECISION_BF16, in); }
static mt_tensor* product_tf32(mt_tensor** in) { return product_in(MT_PRECISION_TF32, in); }
static mt_tensor* transposed_a(mt_tensor** in) {
  return mt_matmul(mt_transpose(in[0], 0, 1), in[1]);
}
static mt_tensor* transposed_b(mt_tensor** in) {
  return mt_matmul(in[0], mt_transpose(in[1], 0, 1));
}

// As somebody new to matmul writes a b, aᵀ b and a bᵀ.
static mt_tensor* multiply_sum(mt_tensor* a, mt_tensor* b, int64_t axis_a, int64_t axis_b,
                               int64_t axis) {
  return mt_sum(mt_mul(mt_expand_dims(a, axis_a), mt_expand_dims(b, axis_b)), &axis, 1);
}
static mt_tensor* multiply_sum_product(mt_tensor** in) {
  return multiply_sum(in[0], in[1], 2, 0, 1);
}
static mt_tensor* multiply_sum_at_b(mt_tensor** in) { return multiply_sum(in[0], in[1], 2, 1, 0); }
static mt_tensor* multiply_sum_a_bt(mt_tensor** in) { return multiply_sum(in[0], in[1], 1, 0, 2); }

static mt_tensor* einsum_product(mt_tensor** in) { return mt_einsum("ik,kj->ij", in, 2); }
static mt_tensor* einsum_at_b(mt_tensor** in) { return mt_einsum("ki,kj->ij", in, 2); }
static mt_tensor* einsum_a_bt(mt_tensor** in) { return mt_einsum("ik,jk->ij", in, 2); }
static mt_tensor* einsum3(mt_tensor** in) { return mt_einsum("ij,jk,kl->il", in, 3); }
static mt_tensor* einsum4(mt_tensor** in) { return mt_einsum("bqd,bkd,bkv,vo->bqo", in, 4); }
static mt_tensor* einsum5(mt_tensor** in) { return mt_einsum("ai,ibj,jck,kdl,le->abcde", in, 5); }
static mt_tensor* einsum6(mt_tensor** in) {
  return mt_einsum("atzdb,lwa,wvst,vxuz,xycd,ryb->lsucr", in, 6);
}

const row matrix_rows[] = {
    {.name = "matmul", .value = product},
    {.name = "matmul_split", .value = product_split},
    {.name = "matmul_bf16", .value = product_bf16},
    {.name = "matmul_tf32", .value = product_tf32},
    {.name = "matmul_at_b", .value = transposed_a},
    {.name = "matmul_a_bt", .value = transposed_b},
    {.name = "multiply_sum", .value = multiply_sum_product},
    {.name = "multiply_sum_at_b", .value = multiply_sum_at_b},
    {.name = "multiply_sum_a_bt", .value = multiply_sum_a_bt},
    {.name = "einsum", .value = einsum_product},
    {.name = "einsum_at_b", .value = einsum_at_b},
    {.name = "einsum_a_bt", .value = einsum_a_bt},
    {.name = "einsum3", .value = einsum3},
    {.name = "einsum4", .value = einsum4},
    {.name = "einsum5", .value = einsum5},
    {.name = "einsum6", .value = einsum6},
    {0},
};
