// SPDX-License-Identifier: Apache-2.0
// The kernels of indexing, sorting and joining; backends/cpu/call.cpp lists them. What they compute
// is defined in src/ops; every sum has one order, whatever the number of threads.
#pragma once

#include <type_traits>

#include "backends/cpu/elementwise/kernels.h"
#include "ops/naive.h"
#include "plan/plan.h"
#include "tensor/first_byte.h"
#include "tensor/walker.h"

namespace mt::cpu {

void gather_kernel(const NaiveCall& call);
void scatter_kernel(const NaiveCall& call, void* scratch, int threads);
int64_t scatter_scratch(const CallGroup& group, int threads);
// For adding `count` rows of `width` elements to `rows` rows.
int64_t scatter_scratch_bytes(int64_t count, int64_t rows, int64_t width, Dtype dtype);
void last_writer_kernel(const NaiveCall& call);
void take_along_axis_kernel(const NaiveCall& call);
void add_along_axis_kernel(const NaiveCall& call, void* scratch, int threads);
int64_t add_along_axis_scratch(const CallGroup& group, int threads);
void nonzero_kernel(const NaiveCall& call);
void concat_kernel(const NaiveCall& call);
void pad_kernel(const NaiveCall& call);
void overlay_kernel(const NaiveCall& call);
void put_rows_kernel(const NaiveCall& call);
void fold_kernel(const NaiveCall& call);
void share_among_extremes_kernel(const NaiveCall& call);
void searchsorted_kernel(const NaiveCall& call);
void argsort_kernel(const NaiveCall& call);
void sort_kernel(const NaiveCall& call);
void argmax_kernel(const NaiveCall& call);
void argmin_kernel(const NaiveCall& call);
void cumulative_sum_kernel(const NaiveCall& call);
void recurrence_kernel(const NaiveCall& call);

// Copies the first operand to the result, if it is not there yet; the rest replaces a part of it.
void begin_as_first(const NaiveCall& call);

// The kernel that adds vectors of T; nullptr for narrow integers.
template <class T>
Operator vector_addition() {
  if constexpr (std::is_floating_point_v<T>) {
    return elementwise_operator(Elementwise::add, sizeof(T) == 4 ? Compute::f32 : Compute::f64);
  } else if constexpr (sizeof(T) >= 4) {
    return elementwise_operator(Elementwise::add, sizeof(T) == 4 ? Compute::i32 : Compute::i64);
  }
  return nullptr;
}

// Elements per task below which threads do not pay.
constexpr int64_t elements_grain = 16 << 10;
// How many items of `elements` each make a task.
inline int64_t grain_of(int64_t elements) {
  return elements >= elements_grain ? 1 : elements_grain / (elements > 0 ? elements : 1);
}

// Calls f with a zero of an unsigned type of the element's size: for moving elements as they are.
template <class F>
void with_bits(size_t size, F&& f) {
  switch (size) {
    case 1: return f(uint8_t{});
    case 2: return f(uint16_t{});
    case 4: return f(uint32_t{});
    default: return f(uint64_t{});
  }
}

inline char* first_element(const NaiveArray& array) {
  return static_cast<char*>(array.data) + first_byte(array);
}

inline int64_t product(const Shape& shape, int begin, int end) {
  int64_t result = 1;
  for (int d = begin; d < end; ++d) result *= shape[d];
  return result;
}

// Dimensions [begin, end) of a layout, without its offset.
inline Layout dimensions(const Layout& layout, int begin, int end) {
  return {Shape(layout.shape.data() + begin, end - begin),
          Strides(layout.strides.data() + begin, end - begin), 0};
}

}  // namespace mt::cpu
