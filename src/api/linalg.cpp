// SPDX-License-Identifier: Apache-2.0
// The C functions of mtorch/linalg.h.
#include "mtorch/linalg.h"

#include <array>

#include "api/guard.h"
#include "backends/host.h"
#include "ops/ops.h"

using namespace mt::api;
using mt::Tensor;

namespace {

// A plain number stays one: it takes the type of what it is compared with.
Tensor optional_operand(mt_tensor* handle) { return handle ? Tensor(operand(handle)) : Tensor(); }

}  // namespace

mt_tensor* mt_solve(mt_tensor* a, mt_tensor* b) {
  return give("solve", [&] { return mt::solve(value(a), value(b)); });
}

mt_tensor* mt_solve_triangular(mt_tensor* a, mt_tensor* b, bool upper) {
  return give("solve_triangular", [&] { return mt::solve_triangular(value(a), value(b), upper); });
}

mt_tensor* mt_inv(mt_tensor* x) {
  return give("inv", [&] { return mt::inverse(value(x)); });
}

mt_tensor* mt_pinv(mt_tensor* x, mt_tensor* tolerance) {
  return give("pinv", [&] { return mt::pinv(value(x), optional_operand(tolerance)); });
}

mt_tensor* mt_det(mt_tensor* x) {
  return give("det", [&] { return mt::det(value(x)); });
}

mt_status mt_slogdet(mt_tensor* x, mt_tensor** sign, mt_tensor** logabsdet) {
  return give_wanted<2>("slogdet", {sign, logabsdet}, [&]() -> std::array<Tensor, 2> {
    mt::Slogdet both = mt::slogdet(value(x));
    return {both.sign, both.logabsdet};
  });
}

mt_tensor* mt_cholesky(mt_tensor* x, bool upper) {
  return give("cholesky", [&] { return mt::cholesky(value(x), upper); });
}

mt_status mt_qr(mt_tensor* x, bool complete, mt_tensor** q, mt_tensor** r) {
  return give_wanted<2>("qr", {q, r}, [&]() -> std::array<Tensor, 2> {
    mt::Qr both = mt::qr(value(x), complete);
    return {both.q, both.r};
  });
}

mt_status mt_eigh(mt_tensor* x, mt_tensor** values, mt_tensor** vectors) {
  return give_wanted<2>("eigh", {values, vectors}, [&]() -> std::array<Tensor, 2> {
    mt::Eigh both = mt::eigh(value(x));
    return {both.values, both.vectors};
  });
}

mt_tensor* mt_eigvalsh(mt_tensor* x) {
  return give("eigvalsh", [&] { return mt::eigvalsh(value(x)); });
}

mt_status mt_svd(mt_tensor* x, bool full, mt_tensor** u, mt_tensor** s, mt_tensor** vh) {
  return give_wanted<3>("svd", {u, s, vh}, [&]() -> std::array<Tensor, 3> {
    mt::Svd all = mt::svd(value(x), full);
    return {all.u, all.s, all.vt};
  });
}

mt_tensor* mt_svdvals(mt_tensor* x) {
  return give("svdvals", [&] { return mt::svdvals(value(x)); });
}

mt_tensor* mt_matrix_rank(mt_tensor* x, mt_tensor* tolerance) {
  return give("matrix_rank",
              [&] { return mt::matrix_rank(value(x), optional_operand(tolerance)); });
}

mt_tensor* mt_matrix_norm(mt_tensor* x, const char* order) {
  return give("matrix_norm",
              [&] { return mt::matrix_norm(value(x), required(order, "the order"), false); });
}

mt_tensor* mt_matrix_norm_keep(mt_tensor* x, const char* order) {
  return give("matrix_norm_keep",
              [&] { return mt::matrix_norm(value(x), required(order, "the order"), true); });
}

mt_tensor* mt_matrix_power(mt_tensor* x, int64_t n) {
  return give("matrix_power", [&] { return mt::matrix_power(value(x), n); });
}

const char* mt_lapack(void) {
  return read("lapack", "", [] { return mt::host::lapack_name(); });
}
