// SPDX-License-Identifier: Apache-2.0
// Every type as every other, with numbers that the other cannot hold.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

#include "mtorch/mtorch.h"

namespace every_operator {

const char* tested();

namespace {

const std::array types = {MT_BOOL, MT_U8,  MT_U16, MT_U32,  MT_U64, MT_I8, MT_I16,
                          MT_I32,  MT_I64, MT_F16, MT_BF16, MT_F32, MT_F64};

// The ends of every type's range and what lies beside them, as far as `dtype` has them, repeated.
mt_tensor* numbers(mt_dtype dtype, int64_t count) {
  std::vector<double> x = {0, -0.0, 0.5, -0.1, 1.5, -1.5, 1.2 * 255, 1e30, -1e30, 1e-30};
  for (int bits : {7, 8, 15, 16, 31, 32, 53, 63, 64}) {
    for (double beside : {-1.0, -0.5, 0.0, 0.5, 1.0}) {
      for (double sign : {-1.0, 1.0}) x.push_back(sign * (std::ldexp(1, bits) + beside));
    }
  }
  for (double special : {double(INFINITY), double(-INFINITY), double(NAN)}) x.push_back(special);
  std::vector<double> repeated;
  for (int64_t i = 0; i < count; ++i) {
    repeated.push_back(x[static_cast<size_t>(i * 7) % x.size()]);
  }
  mt_tensor* made = mt_from_data(repeated.data(), MT_DIMS(count), MT_F64, "cpu:reference");
  return mt_astype(made, dtype);
}

bool are_equal(mt_tensor* a, mt_tensor* b) {
  mt_tensor* both_nan = mt_logical_and(mt_not_equal(a, a), mt_not_equal(b, b));
  return mt_item(mt_all(mt_logical_or(mt_equal(a, b), both_nan), nullptr, 0)) == 1;
}

TEST(Astype, IsThatOfTheReference) {
  for (mt_dtype from : types) {
    for (mt_dtype to : types) {
      for (int64_t count : {3, 40, 1003}) {
        for (bool fused : {false, true}) MT_SCOPE {
            auto convert = [&](const char* device) {
              mt_tensor* x = mt_to_device(numbers(from, count), device);
              if (!fused) return mt_to_device(mt_astype(x, to), "cpu:reference");
              mt_tensor* some = mt_less(mt_to_device(numbers(MT_F32, count), device), mt_number(2));
              mt_tensor* y = mt_astype(mt_where(some, x, mt_zeros_like(x)), to);
              return mt_to_device(mt_where(some, mt_ones_like(y), y), "cpu:reference");
            };
            EXPECT_TRUE(are_equal(convert(tested()), convert("cpu:reference")))
                << mt_dtype_name(from) << " to " << mt_dtype_name(to) << " of " << count
                << (fused ? ", fused" : "") << mt_error_message();
          }
      }
    }
  }
}

}  // namespace
}  // namespace every_operator
