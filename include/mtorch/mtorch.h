// SPDX-License-Identifier: Apache-2.0
/// @file mtorch.h
/// libmtorch: tensors, automatic differentiation and fused kernels behind a stable C interface.
///
/// @code
/// #include <mtorch/mtorch.h>
/// #include <stdio.h>
///
/// int main(void) {                                        // fit y = 3 x + 1
///   float x[64], y[64];
///   for (int i = 0; i < 64; i++) x[i] = i / 64.0f, y[i] = 3 * x[i] + 1;
///   mt_tensor* w = mt_take(mt_require_grad(mt_zeros(MT_DIMS(1, 1), MT_F32, NULL)));
///   mt_tensor* b = mt_take(mt_require_grad(mt_zeros(MT_DIMS(1), MT_F32, NULL)));
///   mt_tensor* parameters[] = {w, b};
///   for (int step = 0; step < 500 && !mt_error(); step++) MT_SCOPE {
///     mt_tensor* input = mt_wrap(x, MT_DIMS(64, 1), MT_F32, NULL, NULL, NULL);
///     mt_tensor* target = mt_wrap(y, MT_DIMS(64, 1), MT_F32, NULL, NULL, NULL);
///     mt_tensor* output = mt_add(mt_matmul(input, w), b);
///     mt_backward(mt_mean(mt_square(mt_sub(output, target)), NULL, 0));
///     mt_sgd(parameters, 2, 0.3);
///     mt_zero_grad(parameters, 2);
///   }
///   if (mt_error()) fprintf(stderr, "%s\n", mt_error_message());
///   else printf("y = %.3f x + %.3f\n", mt_item(w), mt_item(b));
///   mt_release(w), mt_release(b);
///   return mt_error() != MT_OK;
/// }
/// @endcode
///
/// **Read first**: who owns what, and when work happens: tensor.h. How errors are reported:
/// error.h. Those rules hold for every file; the first lines of each say what it adds.
#ifndef MTORCH_MTORCH_H_
#define MTORCH_MTORCH_H_

// IWYU pragma: begin_exports
// clang-format off
#include "version.h"  // the version, MT_API
#include "error.h"    // codes, the first error of a thread
#include "tensor.h"   // handles, scopes, types, creation, reading values
#include "ops.h"      // element-wise operators, expressions in text
#include "reduce.h"   // reductions, running sums, sorting, searching
#include "view.h"     // shapes, indexing, joining
#include "linear.h"   // matrix products, Einstein sums, convolution, pooling
#include "linalg.h"   // systems of equations, decompositions
#include "random.h"   // random numbers
#include "tape.h"     // gradients, the tape, custom operators
#include "trace.h"    // trace and replay, explain
#include "profile.h"  // what each group takes
#include "kernel.h"   // kernels of your own
#include "nn.h"       // functions and losses, parameters, layers
#include "optim.h"    // optimizers, clipping, schedules
#include "data.h"     // data in batches
#include "io.h"       // files, DLPack
#include "device.h"   // devices, threads, memory
// clang-format on
// IWYU pragma: end_exports

#endif
