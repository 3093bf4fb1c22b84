// SPDX-License-Identifier: Apache-2.0
#include "tensor/layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace mt {
namespace {

using Index = std::vector<int64_t>;

// Every index of `shape` in row-major order.
std::vector<Index> indices(const Shape& shape) {
  std::vector<Index> result;
  if (element_count(shape) == 0) return result;
  Index index(static_cast<size_t>(shape.rank()), 0);
  for (;;) {
    result.push_back(index);
    int i = shape.rank() - 1;
    while (i >= 0 && ++index[static_cast<size_t>(i)] == shape[i])
      index[static_cast<size_t>(i--)] = 0;
    if (i < 0) return result;
  }
}

int64_t position(const Layout& layout, const Index& index) {
  int64_t result = layout.offset;
  for (size_t i = 0; i < index.size(); ++i)
    result += index[i] * layout.strides[static_cast<int>(i)];
  return result;
}

// The storage positions of all elements in row-major order: what a view means.
std::vector<int64_t> positions(const Layout& layout) {
  std::vector<int64_t> result;
  for (const Index& index : indices(layout.shape)) result.push_back(position(layout, index));
  return result;
}

Layout layout_at(const Shape& shape, int64_t offset) {
  Layout layout = contiguous_layout(shape);
  layout.offset = offset;
  return layout;
}

TEST(Contiguous, elements_follow_each_other) {
  for (const Shape& shape :
       {Shape(), Shape{1}, Shape{5}, Shape{2, 3}, Shape{2, 1, 3}, Shape{4, 3, 2, 2}}) {
    Layout layout = contiguous_layout(shape);
    EXPECT_TRUE(is_contiguous(layout)) << to_string(shape);
    std::vector<int64_t> found = positions(layout);
    ASSERT_EQ(static_cast<int64_t>(found.size()), element_count(shape));
    for (size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i], static_cast<int64_t>(i));
  }
}

TEST(Contiguous, strides_of_empty_shapes_are_positive) {
  EXPECT_EQ(contiguous_strides(Shape{3, 0, 2}), (Strides{2, 2, 1}));
  EXPECT_TRUE(is_contiguous(contiguous_layout(Shape{3, 0, 2})));
  EXPECT_EQ(contiguous_strides(Shape()), Strides());
}

TEST(Contiguous, looks_at_strides_only_where_they_matter) {
  EXPECT_TRUE(is_contiguous(Shape{2, 1, 3}, Strides{3, 77, 1}));  // a unit dimension's is free
  EXPECT_TRUE(is_contiguous(Shape{2, 0}, Strides{-5, 9}));        // nothing to lie anywhere
  EXPECT_FALSE(is_contiguous(Shape{2, 3}, Strides{1, 2}));
  EXPECT_FALSE(is_contiguous(Shape{2, 3}, Strides{4, 1}));
  EXPECT_FALSE(is_contiguous(Shape{2, 3}, Strides{0, 1}));
  EXPECT_FALSE(is_contiguous(Shape{3}, Strides{-1}));
  EXPECT_TRUE(is_contiguous(layout_at(Shape{2, 3}, 11)));  // whatever the offset
}

TEST(Permute, moves_dimensions) {
  Layout base = layout_at(Shape{2, 3, 4}, 5);
  Layout view = permute(base, Dims{2, 0, 1});
  EXPECT_EQ(view.shape, (Shape{4, 2, 3}));
  for (const Index& i : indices(view.shape)) {
    EXPECT_EQ(position(view, i), position(base, {i[1], i[2], i[0]}));
  }
  Layout back = permute(view, Dims{1, 2, 0});
  EXPECT_EQ(back.shape, base.shape);
  EXPECT_EQ(back.strides, base.strides);
  EXPECT_EQ(permute(contiguous_layout(Shape()), Dims()).shape, Shape());
}

TEST(Expand, repeats_by_stride_zero) {
  Layout base = layout_at(Shape{3, 1}, 2);
  Layout view = expand(base, Shape{2, 3, 4});
  EXPECT_EQ(view.shape, (Shape{2, 3, 4}));
  EXPECT_EQ(view.strides[0], 0);
  EXPECT_EQ(view.strides[2], 0);
  for (const Index& i : indices(view.shape))
    EXPECT_EQ(position(view, i), position(base, {i[1], 0}));
  Layout scalar = expand(layout_at(Shape(), 9), Shape{2, 2});
  EXPECT_EQ(positions(scalar), (std::vector<int64_t>{9, 9, 9, 9}));
  EXPECT_EQ(element_count(expand(contiguous_layout(Shape{1, 3}), Shape{0, 3}).shape), 0);
}

TEST(Slice, takes_every_step_forwards_and_backwards) {
  Layout base = layout_at(Shape{3, 10}, 4);
  for (int64_t step : {-3, -2, -1, 1, 2, 3}) {
    for (int64_t start = 0; start < 10; ++start) {
      int64_t most = step > 0 ? (10 - start + step - 1) / step : start / -step + 1;
      for (int64_t length = 0; length <= most; ++length) {
        Layout view = slice(base, 1, start, length, step);
        ASSERT_EQ(view.shape, (Shape{3, length}));
        for (const Index& i : indices(view.shape)) {
          ASSERT_EQ(position(view, i), position(base, {i[0], start + i[1] * step}));
        }
      }
    }
  }
}

TEST(Slice, an_empty_slice_stays_inside_the_storage) {
  Layout base = contiguous_layout(Shape{4});
  Layout view = slice(base, 0, 4, 0, 1);
  EXPECT_EQ(view.offset, 0);
  EXPECT_EQ(extent(view).begin, extent(view).end);
}

TEST(Slice, flipping_twice_is_the_identity) {
  Layout base = layout_at(Shape{2, 5}, 3);
  Layout twice = slice(slice(base, 1, 4, 5, -1), 1, 4, 5, -1);
  EXPECT_EQ(positions(twice), positions(base));
}

TEST(Window, adds_an_axis_of_neighbours) {
  Layout base = layout_at(Shape{2, 11, 3}, 1);
  for (int64_t size = 1; size <= 4; ++size) {
    for (int64_t step = 1; step <= 3; ++step) {
      for (int64_t dilation = 1; dilation <= 3; ++dilation) {
        Layout view = window(base, 1, size, step, dilation);
        int64_t reach = dilation * (size - 1) + 1, count = 0;
        for (int64_t start = 0; start + reach <= 11; start += step) ++count;
        ASSERT_EQ(view.shape, (Shape{2, count, 3, size}));
        for (const Index& i : indices(view.shape)) {
          ASSERT_EQ(position(view, i), position(base, {i[0], i[1] * step + i[3] * dilation, i[2]}));
        }
      }
    }
  }
}

TEST(Reshape, of_contiguous_elements_always_works) {
  Layout base = layout_at(Shape{2, 3, 4}, 6);
  for (const Shape& shape : {Shape{24}, Shape{4, 3, 2}, Shape{1, 24, 1}, Shape{2, 2, 6}}) {
    std::optional<Layout> view = reshape(base, shape);
    ASSERT_TRUE(view) << to_string(shape);
    EXPECT_EQ(view->shape, shape);
    EXPECT_EQ(positions(*view), positions(base));
  }
  ASSERT_TRUE(reshape(contiguous_layout(Shape{1, 1}), Shape()));
  ASSERT_TRUE(reshape(contiguous_layout(Shape()), Shape{1, 1, 1}));
  ASSERT_TRUE(reshape(contiguous_layout(Shape{0, 5}), Shape{3, 0}));
}

TEST(Reshape, splits_dimensions_of_a_permuted_layout) {
  Layout base = permute(contiguous_layout(Shape{6, 4}), Dims{1, 0});  // [4,6]
  std::optional<Layout> view = reshape(base, Shape{2, 2, 3, 2});
  ASSERT_TRUE(view);
  EXPECT_EQ(positions(*view), positions(base));
}

TEST(Reshape, refuses_what_strides_cannot_express) {
  Layout transposed = permute(contiguous_layout(Shape{2, 3}), Dims{1, 0});
  EXPECT_FALSE(reshape(transposed, Shape{6}));
  Layout columns = slice(contiguous_layout(Shape{4, 6}), 1, 0, 3, 1);
  EXPECT_FALSE(reshape(columns, Shape{12}));
  EXPECT_TRUE(reshape(columns, Shape{2, 2, 3}));
}

TEST(Reshape, joins_dimensions_that_were_expanded_together) {
  Layout base = expand(contiguous_layout(Shape{3}), Shape{2, 2, 3});
  std::optional<Layout> view = reshape(base, Shape{4, 3});
  ASSERT_TRUE(view);
  EXPECT_EQ(positions(*view), positions(base));
  EXPECT_FALSE(reshape(base, Shape{12}));
}

// Whether some strides put `shape` on exactly these positions: read them off the first step along
// each dimension, then compare all.
bool expressible(const std::vector<int64_t>& wanted, const Shape& shape) {
  Layout guess{shape, Dims::filled(shape.rank(), 0), wanted[0]};
  Strides row_major = contiguous_strides(shape);
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] > 1) guess.strides[i] = wanted[static_cast<size_t>(row_major[i])] - wanted[0];
  }
  return positions(guess) == wanted;
}

TEST(Reshape, of_random_views_is_exact_and_copies_only_when_it_must) {
  std::mt19937 random(1);
  auto below = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); };
  int views = 0, copies = 0;
  for (int round = 0; round < 20000; ++round) {
    const int64_t factors[] = {1, 2, 2, 3, 4};
    Shape shape;
    for (int64_t i = 1 + below(4); i > 0; --i) shape.push_back(factors[below(5)]);
    Layout layout = layout_at(shape, below(7));
    for (int64_t i = below(4); i > 0; --i) {
      int axis = static_cast<int>(below(layout.shape.rank()));
      int64_t size = layout.shape[axis];
      switch (below(4)) {
        case 0: {
          Dims order;
          for (int j = 0; j < layout.shape.rank(); ++j) order.push_back(j);
          std::shuffle(order.begin(), order.end(), random);
          layout = permute(layout, order);
          break;
        }
        case 1: layout = slice(layout, axis, size - 1, size, -1); break;
        case 2: layout = slice(layout, axis, 0, (size + 1) / 2, 2); break;
        default:
          if (size == 1) {
            Shape wide = layout.shape;
            wide[axis] = 2;
            layout = expand(layout, wide);
          }
      }
    }
    // A random factorization of the element count, with unit dimensions here and there.
    Shape target;
    int64_t rest = element_count(layout.shape);
    while (rest > 1) {
      int64_t divisor = 1 + below(rest);
      if (rest % divisor) continue;
      if (target.rank() >= 6) divisor = rest;
      target.push_back(divisor);
      rest /= divisor;
    }
    if (below(3) == 0) target.insert(static_cast<int>(below(target.rank() + 1)), 1);
    std::optional<Layout> view = reshape(layout, target);
    bool possible = expressible(positions(layout), target);
    ASSERT_EQ(view.has_value(), possible)
        << to_string(layout.shape) << to_string(layout.strides) << " to " << to_string(target);
    if (view) {
      ASSERT_EQ(positions(*view), positions(layout));
      ++views;
    } else {
      ++copies;
    }
  }
  EXPECT_GT(views, 1000);
  EXPECT_GT(copies, 1000);
}

TEST(Extent, spans_exactly_what_is_touched) {
  std::mt19937 random(2);
  auto below = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); };
  for (int round = 0; round < 2000; ++round) {
    Layout layout{Shape(), Strides(), 100 + below(9)};
    for (int64_t i = below(4); i > 0; --i) {
      layout.shape.push_back(1 + below(4));
      layout.strides.push_back(below(11) - 5);
    }
    std::vector<int64_t> touched = positions(layout);
    Extent found = extent(layout);
    ASSERT_EQ(found.begin, *std::min_element(touched.begin(), touched.end()));
    ASSERT_EQ(found.end, *std::max_element(touched.begin(), touched.end()) + 1);
  }
  Extent none = extent(layout_at(Shape{3, 0}, 8));
  EXPECT_EQ(none.begin, none.end);
}

}  // namespace
}  // namespace mt
