// SPDX-License-Identifier: Apache-2.0
// Gaussian elimination with row exchanges, P a = L U, as solutions and determinants share it.
#pragma once

#include "ops/linalg/matrices.h"

namespace mt {

// The factors are L, without its diagonal of ones, and U in one matrix; row i of P a is row p[i] of
// a; missing is the first step that found no pivot, or 0.
struct Lu {
  Tensor factors, permutation, sign, missing;  // permutation: [..., n, 1]; sign, missing: [batch]

  Lu(const Tensor& all, const Tensor& a) {
    int64_t first = 0, batch = element_count(leading(a));
    factors = take_part(all, &first, a.shape());
    permutation = take_part(all, &first, with_matrix(leading(a), rows_of(a), 1));
    sign = take_part(all, &first, {batch});
    missing = take_part(all, &first, {batch});
  }
};
Lu lu_of(const Tensor& a);

// a^-1 b, or a^-T b, of the same leading sizes; the gradient goes through b and a, not through the
// factors of a.
Tensor lu_solve(const Tensor& factors, const Tensor& permutation, const Tensor& b, const Tensor& a,
                bool transposed);

}  // namespace mt
