// SPDX-License-Identifier: Apache-2.0
// Memory forms and conversions: 16-bit floats exhaustively, against arithmetic on their values.
#include <cmath>
#include <cstring>
#include <vector>

#include "backends/cpu/elementwise/kernels.h"
#include "instruction_sets.h"

namespace mt::cpu {
namespace {

// The value of a 16-bit pattern with this many mantissa bits, from the definition.
float value_of(uint16_t pattern, int mantissa_bits) {
  int bias = (1 << (14 - mantissa_bits)) - 1;
  int exponent = (pattern & 0x7fff) >> mantissa_bits;
  int mantissa = pattern & ((1 << mantissa_bits) - 1);
  float sign = pattern & 0x8000 ? -1.0f : 1.0f;
  if (exponent == 2 * bias + 1) return mantissa ? NAN : sign * INFINITY;
  if (exponent == 0)
    return sign * std::ldexp(static_cast<float>(mantissa), 1 - bias - mantissa_bits);
  return sign * std::ldexp(static_cast<float>(mantissa | 1 << mantissa_bits),
                           exponent - bias - mantissa_bits);
}

bool same_float(float a, float b) {
  return std::isnan(a) ? std::isnan(b) : a == b && std::signbit(a) == std::signbit(b);
}

template <class Out, class In>
std::vector<Out> run(Kernel kernel, const std::vector<In>& in) {
  std::vector<Out> out(in.size());
  const void* inputs[] = {in.data()};
  kernel(out.data(), inputs, static_cast<int64_t>(in.size()));
  return out;
}

void halves(Dtype dtype, int mantissa_bits) {
  std::vector<uint16_t> patterns(65536);
  for (int i = 0; i < 65536; ++i) patterns[static_cast<size_t>(i)] = static_cast<uint16_t>(i);
  // Between each value and the next: the middle, and its two neighbours.
  std::vector<float> between;
  std::vector<uint16_t> rounded;
  for (uint16_t sign : {0, 0x8000}) {
    uint16_t infinity = static_cast<uint16_t>(0x7fff >> mantissa_bits << mantissa_bits);
    for (uint16_t low = 0; low < infinity; ++low) {
      uint16_t high = static_cast<uint16_t>(low + 1);
      float a = value_of(low, mantissa_bits), b = value_of(high, mantissa_bits);
      // Infinity takes the place of the next power of two.
      if (high == infinity) b = mantissa_bits == 10 ? 65536.0f : INFINITY;
      float middle = std::isinf(b) ? std::ldexp(511.0f, 119) : a + (b - a) / 2;
      uint16_t even = low % 2 == 0 ? low : high;
      for (auto [x, y] : {std::pair{a, low},
                          {std::nextafter(middle, 0.0f), low},
                          {middle, even},
                          {std::nextafter(middle, INFINITY), high}}) {
        between.push_back(sign ? -x : x);
        rounded.push_back(static_cast<uint16_t>(y | sign));
      }
    }
  }
  for_each_instruction_set([&] {
    auto loaded = run<float>(load_kernel(dtype), patterns);
    for (size_t i = 0; i < 65536; ++i)
      ASSERT_TRUE(same_float(loaded[i], value_of(patterns[i], mantissa_bits))) << i;
    auto back = run<uint16_t>(store_kernel(dtype), loaded);
    for (size_t i = 0; i < 65536; ++i) {
      // A NaN stays one, quiet and of its sign.
      if (std::isnan(loaded[i])) {
        ASSERT_TRUE(std::isnan(value_of(back[i], mantissa_bits))) << i;
        ASSERT_EQ(back[i] & 0x8000, patterns[i] & 0x8000);
      } else {
        ASSERT_EQ(back[i], patterns[i]);
      }
    }
    auto stored = run<uint16_t>(store_kernel(dtype), between);
    auto round_trip = run<float>(round_kernel(dtype), between);
    for (size_t i = 0; i < between.size(); ++i) {
      ASSERT_EQ(stored[i], rounded[i]) << std::hexfloat << between[i];
      ASSERT_TRUE(same_float(round_trip[i], value_of(rounded[i], mantissa_bits))) << between[i];
    }
    for (float x : {NAN, -NAN, INFINITY, -INFINITY, 3e38f, -3e38f, 1e-45f}) {
      auto once = run<float>(round_kernel(dtype), std::vector<float>{x});
      auto many = run<float>(round_kernel(dtype), std::vector<float>(32, x));
      for (float y : many) ASSERT_TRUE(same_float(y, once[0]));
      ASSERT_EQ(std::isnan(once[0]), std::isnan(x));
    }
  });
}
TEST(ElementwiseStorage, Float16) { halves(Dtype::float16, 10); }
TEST(ElementwiseStorage, Bfloat16) { halves(Dtype::bfloat16, 7); }

template <class Stored, class Computed>
void integers(Dtype dtype) {
  std::vector<Computed> numbers;
  for (Computed x = -70000; x < 70000; x += 7) numbers.push_back(x);
  for (Computed x : {std::numeric_limits<Computed>::min(), std::numeric_limits<Computed>::max()})
    numbers.push_back(x);
  for_each_instruction_set([&] {
    auto stored = run<Stored>(store_kernel(dtype), numbers);
    auto loaded = run<Computed>(load_kernel(dtype), stored);
    auto rounded = run<Computed>(round_kernel(dtype), numbers);
    for (size_t i = 0; i < numbers.size(); ++i) {
      ASSERT_EQ(stored[i], static_cast<Stored>(numbers[i]));
      ASSERT_EQ(loaded[i], static_cast<Computed>(stored[i]));
      ASSERT_EQ(rounded[i], loaded[i]);
    }
  });
}
TEST(ElementwiseStorage, IntegersWrap) {
  integers<uint8_t, int32_t>(Dtype::uint8);
  integers<int8_t, int32_t>(Dtype::int8);
  integers<uint16_t, int32_t>(Dtype::uint16);
  integers<int16_t, int32_t>(Dtype::int16);
  integers<int32_t, int32_t>(Dtype::int32);
  integers<uint32_t, int64_t>(Dtype::uint32);
  integers<int64_t, int64_t>(Dtype::int64);
}

TEST(ElementwiseStorage, BooleanIsZeroOrOne) {
  std::vector<uint8_t> bytes(256);
  std::vector<int32_t> numbers;
  for (size_t i = 0; i < 256; ++i)
    bytes[i] = static_cast<uint8_t>(i), numbers.push_back(static_cast<int32_t>(i) << 8);
  for_each_instruction_set([&] {
    auto loaded = run<int32_t>(load_kernel(Dtype::boolean), bytes);
    auto stored = run<uint8_t>(store_kernel(Dtype::boolean), numbers);
    for (size_t i = 0; i < 256; ++i) {
      ASSERT_EQ(loaded[i], i != 0);
      ASSERT_EQ(stored[i], i != 0);
    }
  });
}

template <class From>
std::vector<From> numbers_to_cast() {
  using limits = std::numeric_limits<From>;
  std::vector<From> x = {From(0),
                         From(1),
                         From(-1),
                         From(100),
                         limits::max(),
                         limits::lowest(),
                         From(limits::max() / 3)};
  if constexpr (std::is_floating_point_v<From>) {
    for (double v : {-0.5,
                     0.5,
                     1.5,
                     -1.5,
                     2147483647.0,
                     2147483648.0,
                     -2147483648.0,
                     -2147483904.0,
                     127.5,
                     128.0,
                     -128.5,
                     -129.0,
                     255.9,
                     256.0,
                     32768.0,
                     65535.9,
                     65536.0,
                     4294967295.0,
                     4294967296.0,
                     1e10,
                     -1e10,
                     9223372036854775808.0,
                     -9223372036854775808.0,
                     18446744073709551616.0,
                     1.8446744073709550e19,
                     1e30,
                     -1e30,
                     1e-30}) {
      x.push_back(static_cast<From>(v));
    }
    for (From v :
         {limits::infinity(), -limits::infinity(), limits::quiet_NaN(), -limits::quiet_NaN()})
      x.push_back(v);
  } else {
    for (int shift = 0; shift < limits::digits; ++shift) {
      x.push_back(static_cast<From>((From(1) << shift) + 1));
      x.push_back(static_cast<From>(limits::max() >> shift));
    }
  }
  while (x.size() % 16) x.push_back(From(3));
  return x;
}

template <class To, class From>
To cast_value(From x) {
  if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    using limits = std::numeric_limits<To>;
    if (std::isnan(x)) return 0;
    long double whole = std::trunc(static_cast<long double>(x));
    if (whole > static_cast<long double>(limits::max())) return limits::max();
    if (whole < static_cast<long double>(limits::min())) return limits::min();
    return static_cast<To>(whole);
  } else {
    return static_cast<To>(x);
  }
}

// Stored is `to`, and To its compute type.
template <class From, class To, class Stored = To>
void casts(Compute from, Dtype to) {
  auto x = numbers_to_cast<From>();
  for_each_instruction_set([&] {
    auto y = run<To>(cast_kernel(from, to), x);
    for (size_t i = 0; i < x.size(); ++i) {
      To want = cast_value<Stored>(x[i]);
      ASSERT_TRUE(y[i] == want || (want != want && y[i] != y[i]))
          << x[i] << " to " << y[i] << ", not " << want;
      // The same alone as in a row.
      ASSERT_EQ(0, memcmp(run<To>(cast_kernel(from, to), std::vector<From>{x[i]}).data(), &y[i],
                          sizeof(To)));
    }
  });
}
template <class From>
void casts_from(Compute from) {
  casts<From, float>(from, Dtype::float32);
  casts<From, double>(from, Dtype::float64);
  casts<From, int32_t>(from, Dtype::int32);
  casts<From, int64_t>(from, Dtype::int64);
  casts<From, uint64_t>(from, Dtype::uint64);
  if constexpr (std::is_floating_point_v<From>) {
    casts<From, int32_t, uint8_t>(from, Dtype::uint8);
    casts<From, int32_t, uint16_t>(from, Dtype::uint16);
    casts<From, int64_t, uint32_t>(from, Dtype::uint32);
    casts<From, int32_t, int8_t>(from, Dtype::int8);
    casts<From, int32_t, int16_t>(from, Dtype::int16);
  }
  auto x = numbers_to_cast<From>();
  for_each_instruction_set([&] {
    auto truth = run<int32_t>(to_boolean_kernel(from), x);
    for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(truth[i], x[i] != From(0)) << x[i];
  });
}
TEST(ElementwiseStorage, CastsSaturate) {
  casts_from<float>(Compute::f32);
  casts_from<double>(Compute::f64);
  casts_from<int32_t>(Compute::i32);
  casts_from<int64_t>(Compute::i64);
  casts_from<uint64_t>(Compute::u64);
}

}  // namespace
TEST(ElementwiseStorage, StreamsWriteTheirElementsAlone) {
  std::vector<uint8_t> x(2048);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<uint8_t>(i * 7 + 1);
  for_each_instruction_set([&] {
    for (size_t size : {1, 2, 4, 8}) {
      for (size_t begin = 0; begin < 160; begin += size) {
        for (size_t count : {0, 1, 2, 7, 15, 16, 33, 100}) {
          std::vector<uint8_t> y(1024), expected(1024);
          const void* inputs[] = {x.data() + size};
          streaming_kernel(size)(y.data() + begin, inputs, static_cast<int64_t>(count));
          std::memcpy(expected.data() + begin, inputs[0], count * size);
          ASSERT_EQ(y, expected) << count << " of " << size << " bytes at " << begin;
        }
      }
    }
  });
}

}  // namespace mt::cpu
