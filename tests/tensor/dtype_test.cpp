// SPDX-License-Identifier: Apache-2.0
#include "tensor/dtype.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "base/error.h"

namespace mt {
namespace {

const Dtype all[] = {Dtype::boolean,  Dtype::uint8,   Dtype::uint16, Dtype::uint32, Dtype::uint64,
                     Dtype::int8,     Dtype::int16,   Dtype::int32,  Dtype::int64,  Dtype::float16,
                     Dtype::bfloat16, Dtype::float32, Dtype::float64};
static_assert(std::size(all) == dtype_count);

TEST(Dtype, has_sizes_in_bytes) {
  const size_t sizes[] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8};
  for (int i = 0; i < dtype_count; ++i) EXPECT_EQ(size_of(all[i]), sizes[i]) << name_of(all[i]);
}

TEST(Dtype, has_distinct_names) {
  std::set<std::string> names;
  for (Dtype dtype : all) names.insert(name_of(dtype));
  EXPECT_EQ(names.size(), size_t{dtype_count});
  EXPECT_STREQ(name_of(Dtype::boolean), "bool");
  EXPECT_STREQ(name_of(Dtype::bfloat16), "bfloat16");
  EXPECT_STREQ(name_of(Dtype::int64), "int64");
}

TEST(Dtype, belongs_to_exactly_one_kind) {
  for (Dtype dtype : all) {
    int kinds = (dtype == Dtype::boolean) + is_unsigned(dtype) + is_signed_integer(dtype) +
                is_floating(dtype);
    EXPECT_EQ(kinds, 1) << name_of(dtype);
    EXPECT_EQ(is_integer(dtype), is_unsigned(dtype) || is_signed_integer(dtype)) << name_of(dtype);
  }
}

TEST(Dtype, accumulates_half_floats_in_float32) {
  for (Dtype dtype : all) {
    EXPECT_EQ(accumulator_of(dtype), is_half(dtype) ? Dtype::float32 : dtype) << name_of(dtype);
  }
  EXPECT_TRUE(is_half(Dtype::float16) && is_half(Dtype::bfloat16));
  EXPECT_FALSE(is_half(Dtype::float32) || is_half(Dtype::int16) || is_half(Dtype::uint16));
}

TEST(Dtype, codes_are_dlpack_codes) {
  EXPECT_EQ(to_code(Dtype::boolean), 0x10806);
  EXPECT_EQ(to_code(Dtype::uint8), 0x10801);
  EXPECT_EQ(to_code(Dtype::int64), 0x14000);
  EXPECT_EQ(to_code(Dtype::float16), 0x11002);
  EXPECT_EQ(to_code(Dtype::bfloat16), 0x11004);
  EXPECT_EQ(to_code(Dtype::float32), 0x12002);
  EXPECT_EQ(to_code(Dtype::float64), 0x14002);
}

TEST(Dtype, codes_round_trip_and_hold_the_width) {
  std::set<int32_t> codes;
  for (Dtype dtype : all) {
    int32_t code = to_code(dtype);
    codes.insert(code);
    Dtype back = Dtype::boolean;
    ASSERT_TRUE(from_code(code, &back)) << name_of(dtype);
    EXPECT_EQ(back, dtype);
    EXPECT_EQ(size_t(code >> 8 & 0xff), 8 * size_of(dtype)) << name_of(dtype);
  }
  EXPECT_EQ(codes.size(), size_t{dtype_count});
}

TEST(Dtype, unknown_codes_are_refused_and_change_nothing) {
  for (int32_t code : {0, -1, 0x12000 + 0x10000, 0x12005, 0x10800 + 7, 0x1ffff}) {
    Dtype dtype = Dtype::int16;
    EXPECT_FALSE(from_code(code, &dtype)) << code;
    EXPECT_EQ(dtype, Dtype::int16);
  }
}

TEST(Promote, is_reflexive_and_symmetric) {
  for (Dtype a : all) {
    EXPECT_EQ(promote(a, a, "add"), a);
    for (Dtype b : all) {
      bool refused = (a == Dtype::uint64 && is_signed_integer(b)) ||
                     (b == Dtype::uint64 && is_signed_integer(a));
      if (refused) continue;
      EXPECT_EQ(promote(a, b, "add"), promote(b, a, "add")) << name_of(a) << " " << name_of(b);
    }
  }
}

TEST(Promote, within_a_kind_takes_the_wider) {
  EXPECT_EQ(promote(Dtype::uint8, Dtype::uint32, "add"), Dtype::uint32);
  EXPECT_EQ(promote(Dtype::int16, Dtype::int8, "add"), Dtype::int16);
  EXPECT_EQ(promote(Dtype::float16, Dtype::float64, "add"), Dtype::float64);
  EXPECT_EQ(promote(Dtype::bfloat16, Dtype::float32, "add"), Dtype::float32);
}

TEST(Promote, mixed_signs_take_a_signed_type_that_holds_both) {
  const Dtype u[] = {Dtype::uint8, Dtype::uint16, Dtype::uint32};
  const Dtype s[] = {Dtype::int8, Dtype::int16, Dtype::int32, Dtype::int64};
  // The Array API's table, row by row.
  const Dtype expected[3][4] = {{Dtype::int16, Dtype::int16, Dtype::int32, Dtype::int64},
                                {Dtype::int32, Dtype::int32, Dtype::int32, Dtype::int64},
                                {Dtype::int64, Dtype::int64, Dtype::int64, Dtype::int64}};
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 4; ++j) EXPECT_EQ(promote(u[i], s[j], "add"), expected[i][j]) << i << j;
  }
}

TEST(Promote, bool_and_integers_give_way_to_floats) {
  for (Dtype dtype : all) EXPECT_EQ(promote(Dtype::boolean, dtype, "add"), dtype);
  for (Dtype integer : all) {
    if (!is_integer(integer)) continue;
    for (Dtype real : all) {
      if (!is_floating(real)) continue;
      EXPECT_EQ(promote(integer, real, "add"), real);
    }
  }
}

TEST(Promote, the_two_half_types_meet_in_float32) {
  EXPECT_EQ(promote(Dtype::float16, Dtype::bfloat16, "add"), Dtype::float32);
  EXPECT_EQ(promote(Dtype::bfloat16, Dtype::float16, "add"), Dtype::float32);
}

TEST(Promote, uint64_with_signed_fails_naming_operator_and_types) {
  for (Dtype b : {Dtype::int8, Dtype::int16, Dtype::int32, Dtype::int64}) {
    for (bool swapped : {false, true}) {
      try {
        swapped ? promote(b, Dtype::uint64, "hypot") : promote(Dtype::uint64, b, "hypot");
        FAIL() << "no error for " << name_of(b);
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), Code::dtype);
        std::string text = error.what();
        EXPECT_EQ(text.rfind("hypot:", 0), 0u) << text;
        EXPECT_NE(text.find("uint64"), std::string::npos) << text;
        EXPECT_NE(text.find(name_of(b)), std::string::npos) << text;
      }
    }
  }
}

}  // namespace
}  // namespace mt
