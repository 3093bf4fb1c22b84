// SPDX-License-Identifier: Apache-2.0
// Each takes one row-major matrix, which LAPACK sees as its transpose in column-major order: where
// that serves as well, nothing is transposed.
#include "backends/cpu/linalg/routines.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "backends/cpu/linalg/lapack.h"

namespace mt::cpu {
namespace {

int32_t small(int64_t size) { return static_cast<int32_t>(size); }
// A leading dimension, which is at least 1.
int32_t lead(int64_t size) { return static_cast<int32_t>(std::max<int64_t>(size, 1)); }

// The working memory that a routine asks for. A float rounds its answer.
template <class T>
int64_t answered(T size) {
  return static_cast<int64_t>(static_cast<double>(size) * 1.000001) + 1;
}
template <class T>
int64_t elements_for(int64_t integers) {
  return (integers * static_cast<int64_t>(sizeof(int32_t)) + static_cast<int64_t>(sizeof(T)) - 1) /
         static_cast<int64_t>(sizeof(T));
}
// The end of the working memory, as integers.
template <class T>
int32_t* integers_at(T* memory) {
  return reinterpret_cast<int32_t*>(memory);
}

template <class T>
bool finite(const T* x, int64_t count) {
  return std::all_of(x, x + count, [](T value) { return std::isfinite(value); });
}

// y [n, m] is x [m, n] transposed, in blocks that stay in cache.
template <class T>
void transpose(const T* x, int64_t m, int64_t n, T* y) {
  constexpr int64_t block = 16;
  for (int64_t top = 0; top < m; top += block) {
    for (int64_t left = 0; left < n; left += block) {
      for (int64_t i = top; i < std::min(m, top + block); ++i) {
        for (int64_t j = left; j < std::min(n, left + block); ++j) y[j * m + i] = x[i * n + j];
      }
    }
  }
}

int64_t no_work(int64_t, int64_t, int64_t, const Attributes&) { return 0; }

// -------------------------------------------------------------------------------------- Cholesky

// The lower triangle in row-major order is the upper one in column-major order.
template <class T>
int64_t cholesky(const Matrices<T>& of) {
  const int64_t n = of.n;
  T* l = of.out[0];
  std::copy(of.in[0], of.in[0] + n * n, l);
  int32_t size = small(n), leading = lead(n), info = 0;
  lapack<T>().potrf("U", &size, l, &leading, &info, 1);
  for (int64_t i = 0; i < n; ++i) std::fill(l + i * n + i + 1, l + (i + 1) * n, T(0));
  // Some LAPACKs take a NaN for positive.
  for (int64_t i = 0; info == 0 && i < n; ++i) {
    if (!(l[i * n + i] > 0)) info = small(i + 1);
  }
  return info;
}

// -------------------------------------------------------------------------- Systems of equations

// Replaces x [n, k] by a^-1 x, or a^-T x, for a triangle of a: in column-major order by x^T a^-T or
// x^T a^-1, and LAPACK sees a^T.
template <class T>
void substitute(const T* a, T* x, int64_t n, int64_t k, bool upper, bool unit, bool transposed) {
  int32_t rows = small(k), columns = small(n), lda = lead(n), ldx = lead(k);
  T one = 1;
  lapack<T>().trsm("R", upper ? "L" : "U", transposed ? "T" : "N", unit ? "U" : "N", &rows,
                   &columns, &one, a, &lda, x, &ldx, 1, 1, 1, 1);
}

template <class T>
int64_t triangular(const Matrices<T>& of) {
  std::copy(of.in[1], of.in[1] + of.n * of.k, of.out[0]);
  substitute(of.in[0], of.out[0], of.n, of.k, of.how[0], of.how[1], false);
  return 0;
}

template <class T>
int64_t lu_work(int64_t n, int64_t, int64_t, const Attributes&) {
  return n * n + elements_for<T>(n);
}
template <class T>
int64_t lu(const Matrices<T>& of) {
  const int64_t n = of.n;
  T *columns = of.work, *p = of.out[1];
  int32_t size = small(n), leading = lead(n), info = 0;
  int32_t* pivots = integers_at(of.work + n * n);
  transpose(of.in[0], n, n, columns);
  lapack<T>().getrf(&size, &size, columns, &leading, pivots, &info);
  transpose(columns, n, n, of.out[0]);
  for (int64_t i = 0; i < n; ++i) p[i] = static_cast<T>(i);
  T sign = 1;
  for (int64_t i = 0; i < n; ++i) {
    if (pivots[i] - 1 == i) continue;
    std::swap(p[i], p[pivots[i] - 1]);
    sign = -sign;
  }
  *of.out[2] = sign;
  *of.out[3] = static_cast<T>(info);
  return 0;
}

int64_t solve_work(int64_t n, int64_t, int64_t k, const Attributes&) { return n * k; }
template <class T>
int64_t solve(const Matrices<T>& of) {
  const int64_t n = of.n, k = of.k;
  const T *factors = of.in[0], *p = of.in[1], *b = of.in[2];
  auto row = [&](T* x, int64_t i) { return x + static_cast<int64_t>(p[i]) * k; };
  T* x = of.out[0];
  if (!of.how[0]) {
    for (int64_t i = 0; i < n; ++i) std::copy_n(row(of.in[2], i), k, x + i * k);
    substitute(factors, x, n, k, false, true, false);
    substitute(factors, x, n, k, true, false, false);
    return 0;
  }
  T* y = of.work;
  std::copy(b, b + n * k, y);
  substitute(factors, y, n, k, true, false, true);
  substitute(factors, y, n, k, false, true, true);
  for (int64_t i = 0; i < n; ++i) std::copy_n(y + i * k, k, row(x, i));
  return 0;
}

// -------------------------------------------------------------------------------------------- QR

// In column-major order it is the transpose's L Q.
template <class T>
int64_t qr_work(int64_t m, int64_t n, int64_t, const Attributes& how) {
  int32_t rows = small(n), columns = small(m), lda = lead(n), info = 0, query = -1;
  int32_t q = small(columns_of_q(m, n, how)), ldq = lead(q), steps = small(std::min(m, n));
  T none{}, first{}, second{};
  lapack<T>().gelqf(&rows, &columns, &none, &lda, &none, &first, &query, &info);
  lapack<T>().orglq(&q, &columns, &steps, &none, &ldq, &none, &second, &query, &info);
  return steps + std::max({answered(first), answered(second), m, n});
}
template <class T>
int64_t qr(const Matrices<T>& of) {
  const int64_t m = of.m, n = of.n, k = std::min(m, n), count = columns_of_q(m, n, of.how);
  int32_t rows = small(n), columns = small(m), lda = lead(n), info = 0;
  int32_t q = small(count), ldq = lead(count), steps = small(k);
  int32_t lwork = small(of.work_size - k);
  T *a = of.in[0], *out = of.out[0], *r = of.out[1], *tau = of.work, *work = tau + k;
  lapack<T>().gelqf(&rows, &columns, a, &lda, tau, work, &lwork, &info);
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t j = 0; j < n; ++j) r[i * n + j] = j < i ? T(0) : a[i * n + j];
  }
  for (int64_t i = 0; i < m; ++i) {
    std::copy_n(a + i * n, k, out + i * count);
    std::fill(out + i * count + k, out + (i + 1) * count, T(0));
  }
  lapack<T>().orglq(&q, &columns, &steps, out, &ldq, tau, work, &lwork, &info);
  return 0;
}

// ----------------------------------------------------------------------------------- Eigenvalues

template <class T>
int64_t eigen_work(int64_t n, bool vectors) {
  int32_t size = small(n), leading = lead(n), info = 0, query = -1, integers = 0;
  T none{}, first{};
  lapack<T>().syevd(vectors ? "V" : "N", "U", &size, &none, &leading, &none, &first, &query,
                    &integers, &query, &info, 1, 1);
  return answered(first) + elements_for<T>(3 + 5 * n);
}
template <class T>
int64_t eigen(const Matrices<T>& of, bool vectors) {
  const int64_t n = of.n;
  T* a = of.in[0];
  for (int64_t i = 0; i < n; ++i) {
    if (!finite(a + i * n, i + 1)) return not_finite;
  }
  int32_t size = small(n), leading = lead(n), info = 0, liwork = small(3 + 5 * n);
  int64_t reals = of.work_size - elements_for<T>(3 + 5 * n);
  int32_t lwork = small(reals);
  lapack<T>().syevd(vectors ? "V" : "N", "U", &size, a, &leading, of.out[0], of.work, &lwork,
                    integers_at(of.work + reals), &liwork, &info, 1, 1);
  if (info != 0 || !vectors) return info;
  transpose(a, n, n, of.out[1]);
  fix_signs<T>(of.out[1], n, n, n, 1, nullptr, 0);
  return 0;
}
template <class T>
int64_t eigh_work(int64_t n, int64_t, int64_t, const Attributes&) {
  return eigen_work<T>(n, true);
}
template <class T>
int64_t eigh(const Matrices<T>& of) {
  return eigen(of, true);
}
template <class T>
int64_t eigvalsh_work(int64_t n, int64_t, int64_t, const Attributes&) {
  return eigen_work<T>(n, false);
}
template <class T>
int64_t eigvalsh(const Matrices<T>& of) {
  return eigen(of, false);
}

// ------------------------------------------------------------------------------- Singular values

// In column-major order it is the transpose, whose U is V.
template <class T>
void singular(const char* job, int64_t m, int64_t n, int64_t u_count, T* a, T* s, T* u, T* vt,
              T* work, int64_t work_size, int32_t* integers, int32_t* info) {
  int32_t rows = small(n), columns = small(m), lda = lead(n), ldu = lead(u_count);
  int32_t lwork = small(work_size);
  lapack<T>().gesdd(job, &rows, &columns, a, &lda, s, vt, &lda, u, &ldu, work, &lwork, integers,
                    info, 1);
}
template <class T>
int64_t singular_work(const char* job, int64_t m, int64_t n, int64_t u_count) {
  T none{}, first{};
  int32_t integers = 0, info = 0;
  singular<T>(job, m, n, u_count, &none, &none, &none, &none, &first, -1, &integers, &info);
  return answered(first) + elements_for<T>(8 * std::min(m, n));
}
template <class T>
int64_t singular_values(const Matrices<T>& of, const char* job, int64_t u_count, T* s, T* u,
                        T* vt) {
  if (!finite(of.in[0], of.m * of.n)) return not_finite;
  int64_t reals = of.work_size - elements_for<T>(8 * std::min(of.m, of.n));
  int32_t info = 0;
  singular(job, of.m, of.n, u_count, of.in[0], s, u, vt, of.work, reals,
           integers_at(of.work + reals), &info);
  return info;
}

template <class T>
int64_t svd_work(int64_t m, int64_t n, int64_t, const Attributes& how) {
  return singular_work<T>(how[0] ? "A" : "S", m, n, how[0] ? m : std::min(m, n));
}
template <class T>
int64_t svd(const Matrices<T>& of) {
  const int64_t p = std::min(of.m, of.n);
  const bool full = of.how[0];
  const int64_t u_count = full ? of.m : p, v_count = full ? of.n : p;
  T *u = of.out[0], *vt = of.out[2];
  // With nothing to decompose LAPACK gives no vectors, and any basis will do.
  for (int64_t i = 0; p == 0 && i < of.m * u_count; ++i) u[i] = i % (of.m + 1) == 0;
  for (int64_t i = 0; p == 0 && i < of.n * v_count; ++i) vt[i] = i % (of.n + 1) == 0;
  if (p == 0) return 0;
  int64_t failed = singular_values(of, full ? "A" : "S", u_count, of.out[1], u, vt);
  if (!failed) fix_singular_signs(u, of.m, u_count, vt, of.n, v_count, p);
  return failed;
}
template <class T>
int64_t svdvals_work(int64_t m, int64_t n, int64_t, const Attributes&) {
  return singular_work<T>("N", m, n, 1);
}
template <class T>
int64_t svdvals(const Matrices<T>& of) {
  T none{};
  if (of.m == 0 || of.n == 0) return 0;
  return singular_values(of, "N", 1, of.out[0], &none, &none);
}

template <class T>
struct Entry {
  const char* name;
  Routine<T> routine;
};
template <class T>
constexpr Entry<T> entries[] = {
    {"cholesky", {cholesky<T>, no_work, 20}},          {"eigh", {eigh<T>, eigh_work<T>, 5}},
    {"eigvalsh", {eigvalsh<T>, eigvalsh_work<T>, 5}},  {"lu", {lu<T>, lu_work<T>, 17}},
    {"lu_solve", {solve<T>, solve_work, 10}},          {"qr", {qr<T>, qr_work<T>, 17}},
    {"solve_triangular", {triangular<T>, no_work, 9}}, {"svd", {svd<T>, svd_work<T>, 5}},
    {"svdvals", {svdvals<T>, svdvals_work<T>, 5}},
};

}  // namespace

template <class T>
Routine<T> find_routine(const MatrixOp& op) {
  if (!*lapack_name()) return {};
  for (const Entry<T>& entry : entries<T>) {
    if (std::strcmp(entry.name, op.name) == 0) return entry.routine;
  }
  return {};
}
template Routine<float> find_routine<float>(const MatrixOp& op);
template Routine<double> find_routine<double>(const MatrixOp& op);

}  // namespace mt::cpu
