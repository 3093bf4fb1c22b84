// SPDX-License-Identifier: Apache-2.0
// The fused program's instruction set on the CPU: one SIMD loop for each instruction and compute
// type, chosen once for the machine's instruction set.
#pragma once

#include <cstdint>

#include "ops/elementwise.h"
#include "ops/reduction.h"

namespace mt::cpu {

// An operator's operand: for each row of the result a row of elements, or one repeated number.
// Constants, row values and broadcast operands thus need no copy.
struct Input {
  const void* data;
  int64_t pitch = 0;  // bytes from one row's elements to the next row's
  bool repeated = false;
  int64_t ahead = 0;  // of the first operand: how many bytes ahead to prefetch, where there
                      // is time for it
};
// out[r * columns + j] = f(inputs[0](r, j), inputs[1](r, j), ...). Touches exactly these elements.
// `out` needs no alignment; it may be the same pointer as any input of the same element size that
// is laid out like it, or whose rows are further apart, since rows are computed in order.
using Operator = void (*)(void* out, const Input* inputs, int64_t rows, int64_t columns);

// nullptr where the operator has no meaning for the type. Comparisons and logical operators write
// i32; logical operators read i32.
Operator elementwise_operator(Elementwise code, Compute type);
// inputs: i32 condition, then two values of `type`.
Operator select_operator(Compute type);

// As Operator, for conversions, whose operands are contiguous.
using Kernel = void (*)(void* out, const void* const* inputs, int64_t n);

// C conversion semantics, except that out-of-range floats saturate and NaN becomes 0, on every
// instruction set alike. Writes the compute type of `to`: floats that become integers are in the
// range of `to`, integers are not wrapped to it.
Kernel cast_kernel(Compute from, Dtype to);
// Anything to the i32 0 or 1: x != 0 (NaN is true).
Kernel to_boolean_kernel(Compute from);
// Memory of `dtype` to its compute type and back; storing rounds to nearest even or wraps.
Kernel load_kernel(Dtype dtype);
// As load_kernel(), then a cast to float32: for narrow integers and booleans, else nullptr.
Kernel load_floats_kernel(Dtype dtype);
Kernel store_kernel(Dtype dtype);
// A copy past the caches, which saves fetching the lines it overwrites. Call finish_streaming()
// before another thread reads the copy.
Kernel streaming_kernel(size_t element_size);
void finish_streaming();
// Compute type to compute type, as if stored to `dtype` and loaded again.
Kernel round_kernel(Dtype dtype);

// `second` applied to the result of `first`, in one kernel. The inputs are those of `first`, a and
// perhaps b, then the other operand of `second`, if it has two. If `right`, the result of `first`
// is the right operand of `second`. nullptr where there is no kernel for the pair.
Operator paired_operator(Elementwise first, Elementwise second, bool right, Compute type);

// Row reductions follow ops/order.h: element j of a panel goes to lane j % lanes, and lanes are
// combined by halving (lane l with l + lanes/2, and so on).
// out[r] = reduction of row r of inputs[0], which has at most one panel of columns. max and min
// propagate NaN. An empty row gives the identity (max: lowest).
Operator row_reduction(Reduction reduction, Compute type);
// The same for transposed rows: at most narrow_columns columns, `pitch` bytes apart, each with its
// element of every row.
constexpr int64_t narrow_columns = 25;
Operator reduction_across(Reduction reduction, Compute type);
// Reduces column c of `rows` contiguous rows into out[c], row by row from what is there; the same
// for each of `panels` consecutive panels, which have results of their own. If `far`, prefetches
// where that pays.
using ColumnReduction = void (*)(void* out, const void* values, int64_t rows, int64_t columns,
                                 int64_t panels, bool far);
ColumnReduction reduction_down(Reduction reduction, Compute type);
// Adds column c of `rows` rows of 16-bit floats, `pitch` elements apart, to sums[c], row by row.
// nullptr where there is no such kernel.
using HalfColumnSum = void (*)(float* sums, const uint16_t* from, int64_t pitch, int64_t rows,
                               int64_t columns);
HalfColumnSum column_sum_of_halves(Dtype dtype);
// Reduces a row to its lanes in parts: combines `count` elements, the first of them with lane
// `lane`, into row_lanes results, which are then a row themselves.
using LaneReduction = void (*)(void* sums, int64_t lane, const void* values, int64_t count);
LaneReduction reduction_to_lanes(Reduction reduction, Compute type);
// The sum of x * x, or of x * y; for floats.
Operator row_sum_of_squares(Compute type);
Operator row_sum_of_products(Compute type);
// The sum of x, which is stored in 16 bits. nullptr where there is no such kernel.
Operator row_sum_of_halves(Dtype dtype);
// The sum of the squares of x - y, with one y for each row; also writes x - y to where the third
// input lies. nullptr where there is no such kernel.
Operator row_sum_of_deviations(Compute type);
// The sum of exp(x - y), with one y for each row. If `kept`, also writes the exponentials to where
// the third input lies.
Operator row_sum_of_exponentials(Compute type, bool kept);
// out[r * columns + j] = x[r]: a row value repeated along its row.
using RowExpansion = void (*)(void* out, const void* x, int64_t rows, int64_t columns);
RowExpansion row_expansion(size_t element_size);

// Philox 4x32-10: element i, for i in [first, first + n), is word i % 4 of block i / 4.
// uniform_source gives [0, 1) with 24 (f32) or 53 (f64) bits, bits_source uint32 in i64. An f64
// takes two words, low word first, so a block holds two of them.
struct RandomKey {
  uint64_t seed;    // the 64-bit Philox key
  uint64_t stream;  // upper 64 bits of the 128-bit counter: one value for each random operator
};
using RandomSource = void (*)(void* out, RandomKey key, uint64_t first, int64_t n);
RandomSource uniform_source(Compute type);  // f32 or f64
RandomSource bits_source();

}  // namespace mt::cpu
