// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/contract/integer_kernels.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/contract/integer_kernels.cpp"
#include "backends/cpu/elementwise/targets.h"

#include "hwy/foreach_target.h"

#include "backends/cpu/contract/micro_kernel-inl.h"
#include "backends/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mt::cpu::HWY_NAMESPACE {

// One vector of columns or the most, and few rows: other kernels would add more code than speed.
constexpr int integer_rows = std::min(rows_for(most_vectors), 4);
template <class T, int V, int... I>
constexpr std::array<MicroKernel<T>, integer_rows> integer_kernel_rows(
    std::integer_sequence<int, I...>) {
  return {strided_kernel<T, I + 1, V, Distant::none>...};
}
template <class T>
StridedKernels integer_kernels_of(StridedKernels::Pack pack) {
  return {lanes_of<T>,
          loads_part_at_once,
          [](int64_t, int64_t columns) {
            return columns % (most_vectors * lanes_of<T>) == 0 ? most_vectors : 1;
          },
          [](int) { return integer_rows; },
          [](int rows, int vectors, bool) {
            using Rows = std::make_integer_sequence<int, integer_rows>;
            static constexpr auto narrow = integer_kernel_rows<T, 1>(Rows());
            static constexpr auto wide = integer_kernel_rows<T, most_vectors>(Rows());
            return reinterpret_cast<AnyKernel>((vectors == 1 ? narrow : wide)[rows - 1]);
          },
          pack};
}
StridedKernels uint32_kernels(StridedKernels::Pack pack) {
  return integer_kernels_of<uint32_t>(pack);
}
StridedKernels uint64_kernels(StridedKernels::Pack pack) {
  return integer_kernels_of<uint64_t>(pack);
}

constexpr uint64_t small_number = uint64_t{1} << 22;
// Adding 1.5 * 2^52 leaves an integer in the low bits of a double.
constexpr double rounder = 0x1.8p52;

bool are_small_here(const uint64_t* numbers, int64_t count) {
  const Vectors<uint64_t> d;
  const auto bias = hn::Set(d, small_number);
  auto reach = hn::Zero(d);
  for (int64_t i = 0; i < count; i += lanes_of<uint64_t>) {
    reach = hn::Or(reach, hn::LoadU(d, numbers + i) + bias);
  }
  const auto outside = hn::And(reach, hn::Set(d, ~(2 * small_number - 1)));
  return hn::AllTrue(d, outside == hn::Zero(d));
}
void to_doubles_here(const uint64_t* numbers, int64_t count, double* out) {
  const Vectors<uint64_t> d;
  const Vectors<double> doubles;
  const auto offset = hn::Set(doubles, rounder);
  for (int64_t i = 0; i < count; i += lanes_of<double>) {
    auto pattern = hn::LoadU(d, numbers + i) + hn::BitCast(d, offset);
    hn::StoreU(hn::BitCast(doubles, pattern) - offset, doubles, out + i);
  }
}
void add_doubles_here(const double* numbers, int64_t count, uint64_t* sums) {
  const Vectors<uint64_t> d;
  const Vectors<double> doubles;
  const auto offset = hn::Set(doubles, rounder);
  for (int64_t i = 0; i < count; i += lanes_of<double>) {
    const auto pattern = hn::BitCast(d, hn::LoadU(doubles, numbers + i) + offset);
    hn::StoreU(hn::LoadU(d, sums + i) + (pattern - hn::BitCast(d, offset)), d, sums + i);
  }
}

template <class T>
T sum_of_lanes(hn::Vec<Vectors<T>> v) {
#if HWY_TARGET == HWY_AVX3
  // Highway would use gcc's reduction here, whose last addition is of int, which must not overflow.
  const hn::Half<Vectors<T>> half;
  return hn::GetLane(hn::SumOfLanes(half, hn::LowerHalf(half, v) + hn::UpperHalf(half, v)));
#else
  return hn::GetLane(hn::SumOfLanes(Vectors<T>(), v));
#endif
}

template <class T>
void add_dots(const T* x, int64_t row, int64_t rows, const T* y, int64_t k, T* sums) {
  const Vectors<T> d;
  constexpr int64_t lanes = lanes_of<T>;
  const int64_t whole = k / lanes * lanes;
  const auto mask = hn::FirstN(d, static_cast<size_t>(k - whole));
  for (int64_t i = 0; i < rows; ++i, x += row) {
    auto sum = hn::Zero(d);
    for (int64_t j = 0; j < whole; j += lanes) {
      sum = fused(d, hn::LoadU(d, x + j), hn::LoadU(d, y + j), sum);
    }
    if (whole < k)
      sum = fused(d, load_part(d, mask, x + whole), load_part(d, mask, y + whole), sum);
    sums[i] += sum_of_lanes<T>(sum);
  }
}
void add_dots32(const uint32_t* x, int64_t row, int64_t rows, const uint32_t* y, int64_t k,
                uint32_t* sums) {
  add_dots(x, row, rows, y, k, sums);
}
void add_dots64(const uint64_t* x, int64_t row, int64_t rows, const uint64_t* y, int64_t k,
                uint64_t* sums) {
  add_dots(x, row, rows, y, k, sums);
}

}  // namespace mt::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mt::cpu {

HWY_EXPORT(uint32_kernels);
HWY_EXPORT(uint64_kernels);
HWY_EXPORT(are_small_here);
HWY_EXPORT(to_doubles_here);
HWY_EXPORT(add_doubles_here);
HWY_EXPORT(add_dots32);
HWY_EXPORT(add_dots64);

StridedKernels integer_kernels(Dtype sum, StridedKernels::Pack pack) {
  return sum == Dtype::int32 ? HWY_DYNAMIC_DISPATCH(uint32_kernels)(pack)
                             : HWY_DYNAMIC_DISPATCH(uint64_kernels)(pack);
}

void add_dots(const uint32_t* x, int64_t row, int64_t rows, const uint32_t* y, int64_t k,
              uint32_t* sums) {
  HWY_DYNAMIC_DISPATCH(add_dots32)(x, row, rows, y, k, sums);
}
void add_dots(const uint64_t* x, int64_t row, int64_t rows, const uint64_t* y, int64_t k,
              uint64_t* sums) {
  HWY_DYNAMIC_DISPATCH(add_dots64)(x, row, rows, y, k, sums);
}

bool are_small(const uint64_t* numbers, int64_t count) {
  return HWY_DYNAMIC_DISPATCH(are_small_here)(numbers, count);
}
void to_doubles(const uint64_t* numbers, int64_t count, double* out) {
  HWY_DYNAMIC_DISPATCH(to_doubles_here)(numbers, count, out);
}
void add_doubles(const double* numbers, int64_t count, uint64_t* sums) {
  HWY_DYNAMIC_DISPATCH(add_doubles_here)(numbers, count, sums);
}

}  // namespace mt::cpu
#endif
