/* SPDX-License-Identifier: Apache-2.0 */
/* The least a program does with the library: data in, a computation, a number out. */
#include <mtorch/mtorch.h>
#include <stdio.h>

int main(void) {
  float data[2] = {1.0f, 2.0f};
  double mean = 0;
  MT_SCOPE {
    mt_tensor* x = mt_wrap(data, MT_DIMS(2), MT_F32, "cpu", NULL, NULL);
    mean = mt_item(mt_mean(mt_square(x), NULL, 0));
  }
  if (mt_error()) fprintf(stderr, "%s\n", mt_error_message());
  printf("%g\n", mean);
  return mean == 2.5 ? 0 : 1;
}
