// SPDX-License-Identifier: Apache-2.0
/// @file linalg.hpp
/// Linear algebra. See mtorch.hpp.
#ifndef MTORCH_LINALG_HPP_
#define MTORCH_LINALG_HPP_

#include <string>

#include "linalg.h"
#include "tensor.hpp"

namespace mtorch {

inline Tensor solve(const Tensor& a, const Tensor& b) {
  return Tensor::own(mt_solve(a.get(), b.get()));
}
inline Tensor solve_triangular(const Tensor& a, const Tensor& b, bool upper = false) {
  return Tensor::own(mt_solve_triangular(a.get(), b.get(), upper));
}
inline Tensor inv(const Tensor& x) { return Tensor::own(mt_inv(x.get())); }
inline Tensor pinv(const Tensor& x, const Tensor& tolerance = {}) {
  return Tensor::own(mt_pinv(x.get(), tolerance.get()));
}
inline Tensor det(const Tensor& x) { return Tensor::own(mt_det(x.get())); }
/// What mt_slogdet() gives.
struct Slogdet {
  Tensor sign, logabsdet;
};
inline Slogdet slogdet(const Tensor& x) {
  Tensors both =
      detail::filled(2, [&](mt_tensor** r) { return mt_slogdet(x.get(), &r[0], &r[1]); });
  return {both[0], both[1]};
}

inline Tensor cholesky(const Tensor& x, bool upper = false) {
  return Tensor::own(mt_cholesky(x.get(), upper));
}
/// What mt_qr() gives.
struct Qr {
  Tensor q, r;
};
inline Qr qr(const Tensor& x, bool complete = false) {
  Tensors both =
      detail::filled(2, [&](mt_tensor** r) { return mt_qr(x.get(), complete, &r[0], &r[1]); });
  return {both[0], both[1]};
}
/// What mt_eigh() gives.
struct Eigh {
  Tensor values, vectors;
};
inline Eigh eigh(const Tensor& x) {
  Tensors both = detail::filled(2, [&](mt_tensor** r) { return mt_eigh(x.get(), &r[0], &r[1]); });
  return {both[0], both[1]};
}
inline Tensor eigvalsh(const Tensor& x) { return Tensor::own(mt_eigvalsh(x.get())); }
/// What mt_svd() gives.
struct Svd {
  Tensor u, s, vh;
};
inline Svd svd(const Tensor& x, bool full = false) {
  Tensors all =
      detail::filled(3, [&](mt_tensor** r) { return mt_svd(x.get(), full, &r[0], &r[1], &r[2]); });
  return {all[0], all[1], all[2]};
}
inline Tensor svdvals(const Tensor& x) { return Tensor::own(mt_svdvals(x.get())); }

inline Tensor matrix_rank(const Tensor& x, const Tensor& tolerance = {}) {
  return Tensor::own(mt_matrix_rank(x.get(), tolerance.get()));
}
inline Tensor matrix_norm(const Tensor& x, const char* order = "fro", bool keep = false) {
  return Tensor::own(keep ? mt_matrix_norm_keep(x.get(), order) : mt_matrix_norm(x.get(), order));
}
inline Tensor matrix_power(const Tensor& x, int64_t n) {
  return Tensor::own(mt_matrix_power(x.get(), n));
}

/// The LAPACK that these run on; "" for none.
inline std::string lapack() { return mt_lapack(); }

}  // namespace mtorch

#endif
