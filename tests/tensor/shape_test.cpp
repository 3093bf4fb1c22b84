// SPDX-License-Identifier: Apache-2.0
#include "tensor/shape.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "base/error.h"

namespace mt {
namespace {

// Runs `call`, which must fail with `code` and a message that holds every one of `parts`.
template <class F>
void expect_error(Code code, std::initializer_list<const char*> parts, F&& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    for (const char* part : parts) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
    return;
  }
  ADD_FAILURE() << "no error";
}

TEST(Dims, starts_empty_and_grows) {
  Dims dims;
  EXPECT_TRUE(dims.empty());
  dims.push_back(4);
  dims.push_back(-2);
  EXPECT_EQ(dims.rank(), 2);
  EXPECT_EQ(dims[0], 4);
  EXPECT_EQ(dims.back(), -2);
  EXPECT_EQ(dims, (Dims{4, -2}));
}

TEST(Dims, insert_and_erase_keep_the_order) {
  Dims dims{1, 2, 3};
  dims.insert(0, 7);
  EXPECT_EQ(dims, (Dims{7, 1, 2, 3}));
  dims.insert(4, 8);
  EXPECT_EQ(dims, (Dims{7, 1, 2, 3, 8}));
  dims.insert(2, 9);
  EXPECT_EQ(dims, (Dims{7, 1, 9, 2, 3, 8}));
  dims.erase(0);
  dims.erase(4);
  dims.erase(1);
  EXPECT_EQ(dims, (Dims{1, 2, 3}));
}

TEST(Dims, compares_rank_and_values) {
  EXPECT_EQ(Dims(), Dims());
  EXPECT_FALSE((Dims{1}) == Dims());
  EXPECT_FALSE((Dims{1, 2}) == (Dims{2, 1}));
  // Values beyond the rank are no part of the list.
  Dims shortened{1, 2, 3};
  shortened.erase(2);
  EXPECT_EQ(shortened, (Dims{1, 2}));
}

TEST(Dims, copies_are_independent) {
  Dims first{1, 2};
  Dims second = first;
  second[0] = 9;
  EXPECT_EQ(first, (Dims{1, 2}));
  first = second;
  EXPECT_EQ(first, (Dims{9, 2}));
  Dims& same = first;
  first = same;
  EXPECT_EQ(first, (Dims{9, 2}));
}

TEST(Dims, holds_sixteen_and_refuses_a_seventeenth) {
  Dims dims = Dims::filled(max_rank, 5);
  EXPECT_EQ(dims.rank(), 16);
  for (int64_t value : dims) EXPECT_EQ(value, 5);
  expect_error(Code::shape, {"16"}, [&] { dims.push_back(1); });
  expect_error(Code::shape, {"16"}, [&] { dims.insert(3, 1); });
  EXPECT_EQ(dims, Dims::filled(max_rank, 5));
}

TEST(Dims, finds_values) {
  EXPECT_TRUE((Dims{3, 4}).contains(4));
  EXPECT_FALSE((Dims{3, 4}).contains(0));
  EXPECT_FALSE(Dims().contains(0));
}

TEST(Dims, prints_in_brackets) {
  EXPECT_EQ(to_string(Dims()), "[]");
  EXPECT_EQ(to_string(Dims{7}), "[7]");
  EXPECT_EQ(to_string(Dims{64, 3, -1}), "[64,3,-1]");
}

TEST(Shape, counts_elements) {
  EXPECT_EQ(element_count(Shape()), 1);
  EXPECT_EQ(element_count(Shape{2, 3, 4}), 24);
  EXPECT_EQ(element_count(Shape{2, 0, 4}), 0);
}

TEST(CheckShape, accepts_what_can_be_addressed) {
  const int64_t most = std::numeric_limits<int64_t>::max();
  EXPECT_NO_THROW(check_shape(Shape(), 8, "zeros"));
  EXPECT_NO_THROW(check_shape(Shape{most}, 1, "zeros"));
  EXPECT_NO_THROW(check_shape(Shape{most / 8}, 8, "zeros"));
  EXPECT_NO_THROW(check_shape(Shape{most / 8, 0}, 8, "zeros"));
}

TEST(CheckShape, refuses_negative_and_overflowing_sizes) {
  const int64_t most = std::numeric_limits<int64_t>::max();
  expect_error(Code::shape, {"zeros", "[2,-1]"}, [] { check_shape(Shape{2, -1}, 4, "zeros"); });
  expect_error(Code::shape, {"zeros", "[0,-1]"}, [] { check_shape(Shape{0, -1}, 4, "zeros"); });
  expect_error(Code::shape, {"ones"}, [=] { check_shape(Shape{most / 8 + 1}, 8, "ones"); });
  expect_error(Code::shape, {"ones"}, [=] { check_shape(Shape{most, 2}, 1, "ones"); });
  // Nothing is stored where one size is zero, but there are strides.
  expect_error(Code::shape, {"zeros"}, [=] { check_shape(Shape{most, 2, 0}, 1, "zeros"); });
  expect_error(Code::shape, {"zeros"}, [=] { check_shape(Shape{0, most, 2}, 1, "zeros"); });
  expect_error(Code::shape, {"ones"}, [] { check_shape(Shape{1LL << 32, 1LL << 32}, 1, "ones"); });
}

// The result computed from the definition: align at the right, 1 gives way.
bool broadcast_by_definition(const Shape& a, const Shape& b, Shape* result) {
  int rank = std::max(a.rank(), b.rank());
  *result = Dims::filled(rank, 1);
  for (int i = 0; i < rank; ++i) {
    int64_t x = i < a.rank() ? a[a.rank() - 1 - i] : 1;
    int64_t y = i < b.rank() ? b[b.rank() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1) return false;
    (*result)[rank - 1 - i] = x == 1 ? y : x;
  }
  return true;
}

TEST(Broadcast, agrees_with_the_definition_on_all_small_shapes) {
  const int64_t sizes[] = {0, 1, 2, 3};
  std::vector<Shape> shapes{Shape()};
  for (size_t i = 0; i < shapes.size(); ++i) {
    Shape base = shapes[i];
    if (base.rank() == 3) continue;
    for (int64_t size : sizes) {
      Shape next = base;
      next.push_back(size);
      shapes.push_back(next);
    }
  }
  ASSERT_EQ(shapes.size(), 1u + 4 + 16 + 64);
  for (const Shape& a : shapes) {
    for (const Shape& b : shapes) {
      Shape expected;
      if (broadcast_by_definition(a, b, &expected)) {
        EXPECT_EQ(broadcast(a, b, "add"), expected) << to_string(a) << " " << to_string(b);
      } else {
        expect_error(Code::shape, {"add", to_string(a).c_str(), to_string(b).c_str()},
                     [&] { broadcast(a, b, "add"); });
      }
    }
  }
}

TEST(NormalizeAxis, counts_from_either_end) {
  for (int rank = 1; rank <= max_rank; ++rank) {
    for (int axis = 0; axis < rank; ++axis) {
      EXPECT_EQ(normalize_axis(axis, rank, "sum"), axis);
      EXPECT_EQ(normalize_axis(axis - rank, rank, "sum"), axis);
    }
  }
}

TEST(NormalizeAxis, refuses_axes_out_of_range) {
  expect_error(Code::index, {"sum", "2"}, [] { normalize_axis(2, 2, "sum"); });
  expect_error(Code::index, {"sum", "-3"}, [] { normalize_axis(-3, 2, "sum"); });
  expect_error(Code::index, {"sum", "0"}, [] { normalize_axis(0, 0, "sum"); });
  const int64_t least = std::numeric_limits<int64_t>::min();
  expect_error(Code::index, {"sum"}, [=] { normalize_axis(least, 4, "sum"); });
  // A value that a 32-bit conversion would turn into a valid axis.
  expect_error(Code::index, {"sum"}, [] { normalize_axis(1LL << 32, 4, "sum"); });
}

TEST(NormalizeAxes, sorts_and_takes_none_as_all) {
  EXPECT_EQ(normalize_axes(Dims(), 3, "sum"), (Dims{0, 1, 2}));
  EXPECT_EQ(normalize_axes(Dims(), 0, "sum"), Dims());
  EXPECT_EQ(normalize_axes(Dims{-1, 0}, 3, "sum"), (Dims{0, 2}));
  EXPECT_EQ(normalize_axes(Dims{2, 1, 0}, 3, "sum"), (Dims{0, 1, 2}));
}

TEST(NormalizeAxes, refuses_repeated_and_wrong_axes) {
  expect_error(Code::invalid, {"sum", "twice"}, [] { normalize_axes(Dims{1, 1}, 3, "sum"); });
  expect_error(Code::invalid, {"sum", "twice"}, [] { normalize_axes(Dims{1, -2}, 3, "sum"); });
  expect_error(Code::index, {"sum", "3"}, [] { normalize_axes(Dims{0, 3}, 3, "sum"); });
}

}  // namespace
}  // namespace mt
