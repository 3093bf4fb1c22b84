// SPDX-License-Identifier: Apache-2.0
// Making tensors, asking what they are, and reading them.
#include <cmath>

#include "api/support.h"

namespace {

class Creation : public Api {};

TEST_F(Creation, Filled) {
  mt_tensor* x = mt_full(MT_DIMS(2, 3), 1.5, MT_F32, nullptr);
  EXPECT_EQ(dims_of(x), std::vector<int64_t>({2, 3}));
  EXPECT_EQ(numbers_of(x), Numbers(6, 1.5));
  EXPECT_EQ(numbers_of(mt_zeros_like(x)), Numbers(6, 0));
  EXPECT_EQ(numbers_of(mt_ones_like(x)), Numbers(6, 1));
  EXPECT_EQ(numbers_of(mt_full_like(x, 7)), Numbers(6, 7));
  EXPECT_EQ(mt_item(mt_ones(nullptr, 0, MT_BOOL, nullptr)), 1);
  EXPECT_EQ(mt_size(mt_zeros(MT_DIMS(3, 0, 2), MT_F64, nullptr)), 0);
}

TEST_F(Creation, FilledIntegersSaturate) {
  EXPECT_EQ(mt_item_int(mt_full(nullptr, 0, 300.9, MT_I8, nullptr)), 127);
  EXPECT_EQ(mt_item_int(mt_full(nullptr, 0, -300, MT_I8, nullptr)), -128);
  EXPECT_EQ(mt_item_int(mt_full(nullptr, 0, -3, MT_U16, nullptr)), 0);
  EXPECT_EQ(mt_item_int(mt_full(nullptr, 0, 1e9, MT_U16, nullptr)), 65535);
  EXPECT_EQ(mt_item_int(mt_full(nullptr, 0, -2.7, MT_I32, nullptr)), -2);
  EXPECT_EQ(mt_item_int(mt_full(nullptr, 0, NAN, MT_I64, nullptr)), 0);
  EXPECT_EQ(mt_item_int(mt_full(nullptr, 0, 1e30, MT_I64, nullptr)), INT64_MAX);
  EXPECT_EQ(mt_item_int(mt_full(nullptr, 0, -1e30, MT_I64, nullptr)), INT64_MIN);
  EXPECT_EQ(mt_item(mt_full(nullptr, 0, 1e30, MT_U64, nullptr)), 0x1p64);
  EXPECT_EQ(mt_item_int(mt_full(nullptr, 0, 1e30, MT_U64, nullptr)), 0);
  EXPECT_TRUE(failed_with(MT_EDTYPE, "item_int"));
  EXPECT_EQ(mt_item_int(mt_full(nullptr, 0, 0.5, MT_BOOL, nullptr)), 1);
}

TEST_F(Creation, Ranges) {
  EXPECT_EQ(numbers_of(mt_arange(0, 5, 2, MT_I32, nullptr)), Numbers({0, 2, 4}));
  EXPECT_EQ(numbers_of(mt_arange(5, 0, -2, MT_F32, nullptr)), Numbers({5, 3, 1}));
  EXPECT_EQ(mt_size(mt_arange(1, 0, 1, MT_F32, nullptr)), 0);
  EXPECT_EQ(numbers_of(mt_arange(0, 1, 0.25, MT_F64, nullptr)), Numbers({0, 0.25, 0.5, 0.75}));
  EXPECT_EQ(mt_item_int(mt_max(mt_arange(0x1p60, 0x1p60 + 512, 256, MT_I64, nullptr), nullptr, 0)),
            (int64_t{1} << 60) + 256);
  EXPECT_EQ(numbers_of(mt_linspace(0, 1, 5, MT_F32, nullptr)), Numbers({0, 0.25, 0.5, 0.75, 1}));
  EXPECT_EQ(numbers_of(mt_linspace(3, 9, 1, MT_F32, nullptr)), Numbers({3}));
  EXPECT_EQ(mt_size(mt_linspace(3, 9, 0, MT_F32, nullptr)), 0);
}

TEST_F(Creation, Patterns) {
  EXPECT_EQ(numbers_of(mt_eye(2, 3, 1, MT_F32, nullptr)), Numbers({0, 1, 0, 0, 0, 1}));
  EXPECT_EQ(numbers_of(mt_eye(2, 2, -1, MT_I32, nullptr)), Numbers({0, 0, 1, 0}));
  int32_t labels[] = {1, 2, 5};
  mt_tensor* x = mt_from_data(labels, MT_DIMS(3), MT_I32, nullptr);
  mt_tensor* hot = mt_one_hot(x, 3, MT_F32);
  EXPECT_EQ(dims_of(hot), std::vector<int64_t>({3, 3}));
  EXPECT_EQ(numbers_of(hot), Numbers({0, 1, 0, 0, 0, 1, 0, 0, 0}));
}

TEST_F(Creation, NumbersTakeTheOthersType) {
  mt_tensor* half = mt_ones(MT_DIMS(2), MT_F16, nullptr);
  mt_tensor* whole = mt_ones(MT_DIMS(2), MT_I16, nullptr);
  EXPECT_EQ(mt_dtype_of(mt_mul(half, mt_number(0.5))), MT_F16);
  EXPECT_EQ(mt_dtype_of(mt_mul(mt_number(0.5), whole)), MT_F32);
  EXPECT_EQ(mt_dtype_of(mt_mul(whole, mt_whole_number(3))), MT_I16);
  EXPECT_EQ(mt_dtype_of(mt_number(1)), MT_F32);
  EXPECT_EQ(mt_dtype_of(mt_whole_number(1)), MT_I64);
  EXPECT_EQ(mt_item(mt_number(0.1)), static_cast<double>(0.1f));
  EXPECT_EQ(mt_item(mt_astype(mt_number(0.1), MT_F64)), 0.1);
  mt_tensor* elsewhere = mt_ones(MT_DIMS(1), MT_F64, "cpu:reference");
  EXPECT_EQ(mt_item(mt_add(elsewhere, mt_number(0.1))), 1.1);
  EXPECT_EQ(mt_item(mt_where(mt_greater(elsewhere, mt_number(0)), mt_number(2), elsewhere)), 2);
}

TEST_F(Creation, Metadata) {
  mt_tensor* x = mt_zeros(MT_DIMS(2, 5), MT_BF16, nullptr);
  EXPECT_EQ(mt_ndim(x), 2u);
  EXPECT_EQ(mt_dim(x, -1), 5);
  EXPECT_EQ(mt_size(x), 10);
  EXPECT_EQ(mt_dtype_of(x), MT_BF16);
  EXPECT_STREQ(mt_device_of(x), "cpu");
  EXPECT_STREQ(mt_dtype_name(MT_BF16), "bfloat16");
  EXPECT_EQ(mt_dtype_size(MT_U64), 8u);
  EXPECT_EQ(mt_promote_types(MT_U8, MT_I8), MT_I16);
  EXPECT_EQ(mt_promote_types(MT_F16, MT_BF16), MT_F32);
  EXPECT_EQ(mt_version(), MT_VERSION);
  EXPECT_STREQ(mt_version_text(), MT_VERSION_TEXT);
}

TEST_F(Creation, Clip) {
  mt_tensor* x = mt_require_grad(floats({-2, -1, 0, 1, 2}));
  mt_tensor* y = mt_clip(x, mt_number(-1), mt_number(1));
  EXPECT_EQ(numbers_of(y), Numbers({-1, -1, 0, 1, 1}));
  mt_backward(mt_sum(y, nullptr, 0));
  EXPECT_EQ(numbers_of(mt_gradient(x)), Numbers({0, 1, 1, 1, 0}));
  EXPECT_EQ(numbers_of(mt_clip(x, nullptr, mt_number(0))), Numbers({-2, -1, 0, 0, 0}));
  EXPECT_EQ(mt_dtype_of(mt_clip(x, mt_astype(mt_number(0), MT_F64), nullptr)), MT_F32);
}

TEST_F(Creation, Reductions) {
  mt_tensor* x = floats({1, 2, 3, 4, 5, 6}, {2, 3});
  EXPECT_EQ(mt_item(mt_sum(x, nullptr, 0)), 21);
  EXPECT_EQ(numbers_of(mt_sum(x, MT_DIMS(-1))), Numbers({6, 15}));
  EXPECT_EQ(dims_of(mt_sum_keep(x, MT_DIMS(0))), std::vector<int64_t>({1, 3}));
  EXPECT_EQ(numbers_of(mt_mean(x, MT_DIMS(0))), Numbers({2.5, 3.5, 4.5}));
  EXPECT_EQ(numbers_of(mt_prod(x, MT_DIMS(1))), Numbers({6, 120}));
  EXPECT_EQ(mt_item(mt_max(x, nullptr, 0)), 6);
  EXPECT_EQ(numbers_of(mt_min_keep(x, MT_DIMS(1))), Numbers({1, 4}));
}

std::string text_of(mt_tensor* tensor) {
  char* text = mt_to_string(tensor);
  std::string result = text ? text : "";
  mt_free_string(text);
  return result;
}

TEST_F(Creation, Text) {  // as NumPy 1.24 prints them
  EXPECT_EQ(text_of(floats({1, 2.5, -3})), "[ 1.   2.5 -3. ]");
  EXPECT_EQ(text_of(floats({1, 2, 3, 4}, {2, 2})), "[[1. 2.]\n [3. 4.]]");
  EXPECT_EQ(text_of(floats({1e-7f, 1})), "[1.e-07 1.e+00]");
  EXPECT_EQ(text_of(floats({NAN, INFINITY, -0.5})), "[ nan  inf -0.5]");
  EXPECT_EQ(text_of(mt_number(0.1)), "0.1");
  EXPECT_EQ(text_of(mt_zeros(MT_DIMS(0, 3), MT_F32, nullptr)), "[]");
  EXPECT_EQ(text_of(mt_arange(0, 12, 1, MT_I64, nullptr)), "[ 0  1  2  3  4  5  6  7  8  9 10 11]");
  EXPECT_EQ(text_of(mt_less(floats({1, 5}), mt_number(3))), "[ True False]");
  EXPECT_EQ(text_of(mt_arange(0, 2000, 1, MT_I32, nullptr)), "[   0    1    2 ... 1997 1998 1999]");
  EXPECT_EQ(text_of(mt_zeros(MT_DIMS(40, 40), MT_U8, nullptr)),
            "[[0 0 0 ... 0 0 0]\n [0 0 0 ... 0 0 0]\n [0 0 0 ... 0 0 0]\n ...\n [0 0 0 ... 0 0 0]\n"
            " [0 0 0 ... 0 0 0]\n [0 0 0 ... 0 0 0]]");
  EXPECT_EQ(text_of(mt_ones(MT_DIMS(2, 1, 2), MT_I8, nullptr)), "[[[1 1]]\n\n [[1 1]]]");
  EXPECT_EQ(text_of(mt_astype(floats({0.1f}), MT_F16)), "[0.1]");
  EXPECT_EQ(text_of(mt_arange(100, 120, 1, MT_F32, nullptr)),
            "[100. 101. 102. 103. 104. 105. 106. 107. 108. 109. 110. 111. 112. 113.\n"
            " 114. 115. 116. 117. 118. 119.]");
}

}  // namespace
