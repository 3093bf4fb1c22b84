// SPDX-License-Identifier: Apache-2.0
// The C functions of mtorch/reduce.h that reduce.
#include "mtorch/reduce.h"

#include "api/guard.h"
#include "ops/ops.h"

using namespace mt::api;

// Each reduction in its two forms: without the reduced axes, and with them as size 1.
#define REDUCTION(name)                                                               \
  mt_tensor* mt_##name(mt_tensor* x, const int64_t* axes, size_t naxes) {             \
    return give(#name, [&] { return mt::name(value(x), dims(axes, naxes), false); }); \
  }                                                                                   \
  mt_tensor* mt_##name##_keep(mt_tensor* x, const int64_t* axes, size_t naxes) {      \
    return give(#name, [&] { return mt::name(value(x), dims(axes, naxes), true); });  \
  }

REDUCTION(sum)
REDUCTION(mean)
REDUCTION(prod)
REDUCTION(max)
REDUCTION(min)
REDUCTION(argmax)
REDUCTION(argmin)
REDUCTION(any)
REDUCTION(all)
REDUCTION(logsumexp)
REDUCTION(count_nonzero)

// Variance and norms take a number more: the correction, or the order.
#define NUMBERED_REDUCTION(name, function)                                                        \
  mt_tensor* mt_##name(mt_tensor* x, const int64_t* axes, size_t naxes, double number) {          \
    return give(#name, [&] { return mt::function(value(x), dims(axes, naxes), number, false); }); \
  }                                                                                               \
  mt_tensor* mt_##name##_keep(mt_tensor* x, const int64_t* axes, size_t naxes, double number) {   \
    return give(#name, [&] { return mt::function(value(x), dims(axes, naxes), number, true); });  \
  }

NUMBERED_REDUCTION(var, var)
NUMBERED_REDUCTION(std, standard_deviation)
NUMBERED_REDUCTION(norm, norm)
