// SPDX-License-Identifier: Apache-2.0
/// @file linalg.h
/// Linear algebra: systems of equations, decompositions and what follows from them.
///
/// All work on the matrices in the last two axes; leading axes are a batch. They take floats and
/// compute in float32 or float64; 16-bit floats are computed in float32 and rounded once. The CPU
/// runs them on LAPACK where one is found, else on plain loops of the library: see mt_lapack().
///
/// **Failures.** A matrix that has no such decomposition is MT_EINVAL: singular, not positive
/// definite, not converged, with the matrix's place in the batch; and where eigenvalues or singular
/// values are formed, not finite. To know that, these functions compute at the call; inside a trace
/// they cannot, and the results of such a matrix are infinite or NaN. The other functions, mt_qr()
/// and mt_solve() too, go on with a NaN or an infinity as arithmetic does: results can be NaN.
///
/// **Subnormal pivots.** Many LAPACKs multiply by the inverse of a pivot, which is infinite where
/// the pivot is below 3e-39 in float32, or 6e-309 in float64: mt_solve(), mt_inv(), mt_det() and
/// mt_slogdet() of such a matrix can be NaN. Scale it first.
///
/// **Signs.** Where a vector's sign is free, the first of its components that is nearly its largest
/// is positive. All are differentiable, to any order, where the result is a smooth function: of
/// singular and eigenvectors where the values are distinct.
#ifndef MTORCH_LINALG_H_
#define MTORCH_LINALG_H_

#include "tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---------------------------------------------------------------------------- Systems of equations

/// The x with a x = b: [..., n, n] and [..., n, k] give [..., n, k]; leading axes broadcast. A `b`
/// of one dimension is one column, whose axis is dropped. MT_EINVAL for a singular matrix.
MT_API mt_tensor* mt_solve(mt_tensor* a, mt_tensor* b);
/// The same for a triangular a, of which only the upper or the lower triangle is read; b is
/// [..., n, k]. A zero on the diagonal gives infinities and NaN.
MT_API mt_tensor* mt_solve_triangular(mt_tensor* a, mt_tensor* b, bool upper);
/// The inverse of [..., n, n]. MT_EINVAL for a singular matrix.
MT_API mt_tensor* mt_inv(mt_tensor* x);
/// The pseudo-inverse [..., n, m] of [..., m, n] (Moore and Penrose). Singular values up to
/// `tolerance`, a number for each matrix or for all, times the largest count as 0; NULL means
/// max(m, n) times the type's epsilon.
MT_API mt_tensor* mt_pinv(mt_tensor* x, mt_tensor* tolerance);

/// The determinant of [..., n, n]. Its gradient, the cofactors, is right for a singular matrix too;
/// the derivatives of that gradient up to 8 x 8, while a larger singular matrix has NaN there.
MT_API mt_tensor* mt_det(mt_tensor* x);
/// Its sign and the logarithm of its magnitude, which neither overflow nor underflow: 0 and -inf
/// for a singular matrix. Either may be NULL when it is not wanted.
MT_API mt_status mt_slogdet(mt_tensor* x, mt_tensor** sign, mt_tensor** logabsdet);

// ---------------------------------------------------------------------------------- Decompositions

/// The triangular factor of a symmetric positive definite x [..., n, n], of which the lower
/// triangle is read: L with x = L L^T, or when `upper` U with x = U^T U. The gradient is symmetric.
MT_API mt_tensor* mt_cholesky(mt_tensor* x, bool upper);
/// x = q r for [..., m, n]: q [..., m, p] with orthonormal columns and r [..., p, n], an upper
/// triangle; p is min(m, n), or m when `complete`, which has no gradient where m > n. Either may be
/// NULL when it is not wanted.
MT_API mt_status mt_qr(mt_tensor* x, bool complete, mt_tensor** q, mt_tensor** r);
/// The eigenvalues [..., n], ascending, and eigenvectors, the columns of [..., n, n], of a
/// symmetric x, of which the lower triangle is read: x = v diag(w) v^T. The gradient is symmetric.
/// Either may be NULL when it is not wanted.
MT_API mt_status mt_eigh(mt_tensor* x, mt_tensor** values, mt_tensor** vectors);
/// The eigenvalues of mt_eigh() alone, which takes less.
MT_API mt_tensor* mt_eigvalsh(mt_tensor* x);
/// x = u diag(s) vh for [..., m, n] with p = min(m, n): singular values s [..., p], descending, and
/// orthonormal columns of u [..., m, p] and rows of vh [..., p, n]. With `full`, u is [..., m, m]
/// and vh [..., n, n]; no gradient passes through the vectors added. Each may be NULL when it is
/// not wanted.
MT_API mt_status mt_svd(mt_tensor* x, bool full, mt_tensor** u, mt_tensor** s, mt_tensor** vh);
/// The singular values of mt_svd() alone, which takes less.
MT_API mt_tensor* mt_svdvals(mt_tensor* x);

// ------------------------------------------------------------------------------------ Descriptions

/// The int64 number of singular values above `tolerance` times the largest, as in mt_pinv(). No
/// gradient.
MT_API mt_tensor* mt_matrix_rank(mt_tensor* x, mt_tensor* tolerance);
/// A norm of each matrix, by name: "fro", the Euclidean norm of its elements; "nuc", the sum of its
/// singular values; "2" and "-2", the largest and smallest of them; "1" and "-1", the largest and
/// smallest sum of magnitudes of a column; "inf" and "-inf", of a row. MT_EINVAL for others.
MT_API mt_tensor* mt_matrix_norm(mt_tensor* x, const char* order);
MT_API mt_tensor* mt_matrix_norm_keep(mt_tensor* x, const char* order);
/// The product of n copies of a square matrix; of its inverse for n below 0. Integers too for n
/// from 0 on.
MT_API mt_tensor* mt_matrix_power(mt_tensor* x, int64_t n);

/// The LAPACK that these run on, by the name it was loaded under, such as "liblapack.so.3"; ""
/// where none is found and plain loops serve. MT_LAPACK in the environment names another library,
/// or with "none" says to use none: the results are then the same bits on every machine. Belongs to
/// the library.
MT_API const char* mt_lapack(void);

#ifdef __cplusplus
}
#endif
#endif
