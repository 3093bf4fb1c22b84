// SPDX-License-Identifier: Apache-2.0
// A whole program around one small matrix product: what a user waits for before the first result.
#include <mtorch/mtorch.h>
#include <stdio.h>

int main(void) {
  mt_tensor* x = mt_reshape(mt_linspace(-1, 1, 64 * 64, MT_F32, NULL), MT_DIMS(64, 64));
  printf("%.9g\n", mt_item(mt_sum(mt_abs(mt_matmul(x, x)), NULL, 0)));
  return mt_error() != MT_OK;
}
