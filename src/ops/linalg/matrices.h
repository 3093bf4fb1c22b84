// SPDX-License-Identifier: Apache-2.0
// What the operators on whole matrices share: decompositions and solutions. Each is a function on
// one matrix, which a batch runs over; a backend may know a faster one for the same operator.
//
// A result of several parts is one vector, so that it is one node: the parts one after the other,
// each [batch..., rows, columns], and then, where an operator can fail, a number for each matrix, 0
// for success. The parts are views of it, and the gradients of all arrive together.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "ops/naive.h"
#include "ops/ops.h"

namespace mt {

// One matrix of each operand, and of each part of the result, as contiguous rows.
template <class T>
struct Matrices {
  int64_t m, n, k;  // the first operand is m x n, the last one has k columns
  const Attributes& how;
  T* in[3];  // may be overwritten
  T* out[4];
  T* work;
  int64_t work_size;
};
// Returns 0, or what says why it failed.
template <class T>
using MatrixFunction = int64_t (*)(const Matrices<T>& matrices);

// For one matrix, how many elements the parts of the result have, and the function's memory.
struct MatrixSizes {
  int64_t parts[4] = {0, 0, 0, 0}, work = 0;

  int64_t result() const { return parts[0] + parts[1] + parts[2] + parts[3]; }
};

// Of QR of an m x n matrix; its attribute: complete.
inline int64_t columns_of_q(int64_t m, int64_t n, const Attributes& how) {
  return how[0] ? m : std::min(m, n);
}

struct MatrixOp : Op {
  size_t operands;  // those that are read; others are there for the gradient
  MatrixSizes (*sizes)(int64_t m, int64_t n, int64_t k, const Attributes& how);
  MatrixFunction<double> function;
};

// The value of every MatrixOp: the batch, matrix by matrix, in float64.
void matrix_value(const NaiveCall& call);

constexpr MatrixOp matrix_op(const char* name, decltype(Op::gradient) gradient, size_t operands,
                             decltype(MatrixOp::sizes) sizes, MatrixFunction<double> function) {
  return {{.name = name, .kind = OpKind::call, .value = matrix_value, .gradient = gradient},
          operands,
          sizes,
          function};
}

// A call of a MatrixOp, taken apart.
struct MatrixCall {
  const NaiveCall& call;
  size_t operands;
  int64_t m, n, k, batch;
  int64_t elements[3] = {0, 0, 0};  // of one matrix of each operand
  MatrixSizes sizes;

  explicit MatrixCall(const NaiveCall& call);
  // How many elements run() needs as memory.
  int64_t memory(int64_t work) const;
  // Matrix b of the batch, by a function with so many elements as working memory.
  template <class T>
  void run(int64_t b, T* memory, MatrixFunction<T> function, int64_t work) const;
};

// ------------------------------------------------------------------------------------- Recording

Shape with_matrix(Shape lead, int64_t rows, int64_t columns);  // lead and two more
// Elements of a vector from *first on as [lead..., rows, columns]; moves on.
Tensor take_part(const Tensor& all, int64_t* first, const Shape& shape);
// x in the type that is computed in; fails when x is no matrix of floats, or not square.
Tensor matrix_operand(const Tensor& x, const char* name, bool square);
// Records an operator of several parts, with room for what failed.
Tensor record_parts(const MatrixOp& op, const Tensor& x, Attributes how = {});
// Fails when one of these numbers [batch] is not 0, naming the first such matrix of x and why,
// where "%lld" is the number, or that it is not finite. Computes now; inside a trace nothing can be
// known.
constexpr int64_t not_finite = -1;
void check_matrices(const Tensor& failures, const Tensor& x, const char* name, const char* why);

inline int64_t rows_of(const Tensor& x) { return x.shape()[x.rank() - 2]; }
inline int64_t columns_of(const Tensor& x) { return x.shape().back(); }
inline Tensor this_value(const Node& node) { return Tensor(const_cast<Node*>(&node)); }
Tensor identity_like(const Tensor& x);  // as large as the square x, of its type

// What gradients of spectra divide by: 1 / x, and 0 where x is 0. Values that coincide leave their
// vectors free to turn among each other, which nothing that has a gradient depends on.
Tensor inverse_or_zero(const Tensor& x);

// Makes the first component of each vector j that is nearly its largest positive, so that vectors
// whose sign is free are the same however they were computed. Component i of vector j lies at
// i * down + j * across. Of `with`, rows of `length` or null, row j changes its sign too.
template <class T>
void fix_signs(T* vectors, int64_t components, int64_t down, int64_t count, int64_t across, T* with,
               int64_t length) {
  for (int64_t j = 0; j < count; ++j, vectors += across) {
    T largest = 0, chosen = 0;
    for (int64_t i = 0; i < components; ++i) {
      largest = std::max(largest, std::fabs(vectors[i * down]));
    }
    for (int64_t i = 0; i < components && chosen == 0; ++i) {
      if (std::fabs(vectors[i * down]) >= T(0.9) * largest) chosen = vectors[i * down];
    }
    if (!(chosen < 0)) continue;
    for (int64_t i = 0; i < components; ++i) vectors[i * down] = -vectors[i * down];
    for (int64_t i = 0; with && i < length; ++i) with[j * length + i] = -with[j * length + i];
  }
}

// The same for the vectors of U [m, u] and V^T [v, n], of which the first p go together.
template <class T>
void fix_singular_signs(T* u, int64_t m, int64_t u_count, T* vt, int64_t n, int64_t v_count,
                        int64_t p) {
  fix_signs<T>(u, m, u_count, p, 1, vt, n);
  fix_signs<T>(u + p, m, u_count, u_count - p, 1, nullptr, 0);
  fix_signs<T>(vt + p * n, n, 1, v_count - p, n, nullptr, 0);
}

bool all_finite(const double* x, int64_t count);

// ------------------------------------------------------------------------------ Running a batch

namespace detail {
template <class T>
void gather_matrix(const NaiveArray& x, int64_t b, T* to);
extern template void gather_matrix<float>(const NaiveArray& x, int64_t b, float* to);
extern template void gather_matrix<double>(const NaiveArray& x, int64_t b, double* to);

template <class T>
void put(const NaiveArray& y, int64_t first, const T* from, int64_t count) {
  auto copy = [&](auto* to) {
    using To = std::remove_pointer_t<decltype(to)>;
    for (int64_t i = 0; i < count; ++i) to[first + i] = static_cast<To>(from[i]);
  };
  if (y.dtype == Dtype::float32) {
    copy(static_cast<float*>(y.data) + y.layout.offset);
  } else {
    copy(static_cast<double*>(y.data) + y.layout.offset);
  }
}
}  // namespace detail

template <class T>
void MatrixCall::run(int64_t b, T* memory, MatrixFunction<T> function, int64_t work) const {
  Matrices<T> one{m, n, k, call.attributes, {}, {}, nullptr, work};
  for (size_t i = 0; i < operands; ++i) {
    detail::gather_matrix(call.inputs[i], b, memory);
    one.in[i] = memory;
    memory += elements[i];
  }
  T* results = memory;
  for (size_t i = 0; i < 4; ++i) {
    one.out[i] = memory;
    memory += sizes.parts[i];
  }
  one.work = memory;
  T failed = static_cast<T>(function(one));
  if (failed != 0) {
    std::fill(results, results + sizes.result(), std::numeric_limits<T>::quiet_NaN());
  }
  int64_t first = 0;
  for (size_t i = 0; i < 4; ++i) {
    detail::put(call.output, first + b * sizes.parts[i], one.out[i], sizes.parts[i]);
    first += batch * sizes.parts[i];
  }
  if (call.output.size() > first) detail::put(call.output, first + b, &failed, 1);
}

}  // namespace mt
