// SPDX-License-Identifier: Apache-2.0
// Finds LAPACK when it is first needed. It is loaded, not linked, so that the library depends on
// none, programs that need no decompositions load none, and users choose it where they run.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mt::cpu {

// The routines that are used, by Fortran's conventions: everything by reference, 32-bit integers,
// column-major matrices, and the lengths of strings at the end.
template <class T>
struct Lapack {
  using Integer = const int32_t*;
  using Text = const char*;
  void (*potrf)(Text uplo, Integer n, T* a, Integer lda, int32_t* info, size_t);
  void (*getrf)(Integer m, Integer n, T* a, Integer lda, int32_t* pivots, int32_t* info);
  void (*trsm)(Text side, Text uplo, Text trans, Text diag, Integer m, Integer n, const T* alpha,
               const T* a, Integer lda, T* b, Integer ldb, size_t, size_t, size_t, size_t);
  void (*gelqf)(Integer m, Integer n, T* a, Integer lda, T* tau, T* work, Integer lwork,
                int32_t* info);
  void (*orglq)(Integer m, Integer n, Integer k, T* a, Integer lda, const T* tau, T* work,
                Integer lwork, int32_t* info);
  void (*syevd)(Text jobz, Text uplo, Integer n, T* a, Integer lda, T* w, T* work, Integer lwork,
                int32_t* iwork, Integer liwork, int32_t* info, size_t, size_t);
  void (*gesdd)(Text jobz, Integer m, Integer n, T* a, Integer lda, T* s, T* u, Integer ldu, T* vt,
                Integer ldvt, T* work, Integer lwork, int32_t* iwork, int32_t* info, size_t);
};

// The name of the library that was loaded; "" if there is none. The environment variable MT_LAPACK
// names another one, or is "none" to use none.
const char* lapack_name();
// Its routines; valid only if there is one.
template <class T>
const Lapack<T>& lapack();

}  // namespace mt::cpu
