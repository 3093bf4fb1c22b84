// SPDX-License-Identifier: Apache-2.0
#include "autodiff/backward.h"
#include "fusion/trace.h"
#include "graph/record.h"
#include "ops/check.h"
#include "ops/ops.h"

namespace mt::testing {
namespace {

IndexItem at(int64_t i) { return {IndexItem::at, i}; }
IndexItem range(int64_t start, int64_t stop, int64_t step = 1) {
  return {IndexItem::range, start, stop, step};
}
IndexItem by(const Tensor& tensor) {
  IndexItem item{IndexItem::by};
  item.tensor = tensor;
  return item;
}
constexpr int64_t open = INT64_MIN;
const IndexItem all_of{IndexItem::range}, ellipsis{IndexItem::ellipsis};
const IndexItem new_axis{IndexItem::new_axis};

Tensor cube() { return make({2, 3, 4}, counting(24), Dtype::float32); }

TEST(index, ranges_positions_and_new_axes_are_views) {
  Tensor x = cube();
  EXPECT_EQ(read(index(x, {at(1), at(-1)})), (Numbers{20, 21, 22, 23}));
  EXPECT_EQ(read(index(x, {at(0), range(open, open, -2), at(1)})), (Numbers{9, 1}));
  EXPECT_EQ(index(x, {ellipsis, range(1, 100), new_axis}).shape(), (Shape{2, 3, 3, 1}));
  EXPECT_EQ(read(index(x, {ellipsis, range(-1, 0, -2)})),
            (Numbers{3, 1, 7, 5, 11, 9, 15, 13, 19, 17, 23, 21}));
  EXPECT_EQ(index(x, {range(2, 1)}).shape(), (Shape{0, 3, 4}));
  EXPECT_EQ(index(x, {}).shape(), x.shape());
}

TEST(index, tensors_follow_numpy) {
  Tensor x = cube();
  Tensor a = make({2, 2}, {0, 1, 1, -1}, Dtype::int32), b = integers({2, 0});
  EXPECT_EQ(index(x, {all_of, by(a)}).shape(), (Shape{2, 2, 2, 4}));
  EXPECT_EQ(read(index(x, {at(1), by(b), at(3)})), (Numbers{23, 15}));
  EXPECT_EQ(read(index(x, {ellipsis, by(integers({-1, 0}))})),
            (Numbers{3, 0, 7, 4, 11, 8, 15, 12, 19, 16, 23, 20}));
}

TEST(index, adjacent_tensors_stay_in_place_others_go_in_front) {
  Tensor x = make({2, 3, 4, 5}, counting(120), Dtype::float32);
  Tensor i = integers({0, 1, 1}), j = integers({2, 0, 3});
  EXPECT_EQ(index(x, {all_of, by(i), by(j)}).shape(), (Shape{2, 3, 5}));
  EXPECT_EQ(index(x, {by(i), all_of, by(j)}).shape(), (Shape{3, 3, 5}));
  EXPECT_EQ(index(x, {all_of, by(i), all_of, by(j)}).shape(), (Shape{3, 2, 4}));
  EXPECT_EQ(index(x, {at(0), all_of, by(j)}).shape(), (Shape{3, 3, 5}));
  EXPECT_EQ(index(x, {by(i), new_axis, by(i)}).shape(), (Shape{3, 1, 4, 5}));
  EXPECT_EQ(index(x, {all_of, at(1), by(j)}).shape(), (Shape{2, 3, 5}));
  Numbers y = read(index(x, {by(i), all_of, by(j), at(4)}));
  ASSERT_EQ(y.size(), 9u);
  for (int64_t n = 0; n < 3; ++n) {
    for (int64_t c = 0; c < 3; ++c) {
      double expected = Numbers{0, 1, 1}[n] * 60 + c * 20 + Numbers{2, 0, 3}[n] * 5 + 4;
      EXPECT_EQ(y[static_cast<size_t>(n * 3 + c)], expected);
    }
  }
}

TEST(index, bool_tensors_stand_for_their_axes) {
  Tensor x = cube();
  Tensor mask = make({2, 3}, {1, 0, 0, 0, 1, 1}, Dtype::boolean);
  Tensor y = index(x, {by(mask)});
  EXPECT_EQ(y.shape(), (Shape{3, 4}));
  EXPECT_EQ(read(y), (Numbers{0, 1, 2, 3, 16, 17, 18, 19, 20, 21, 22, 23}));
  EXPECT_EQ(read(index(x, {by(mask), at(1)})), (Numbers{1, 17, 21}));
  Tensor yes = make({}, {1}, Dtype::boolean), no = make({}, {0}, Dtype::boolean);
  EXPECT_EQ(index(x, {by(yes)}).shape(), (Shape{1, 2, 3, 4}));
  EXPECT_EQ(index(x, {by(no)}).shape(), (Shape{0, 2, 3, 4}));
  Tensor rows = make({3}, {1, 0, 1}, Dtype::boolean);
  EXPECT_EQ(read(index(x, {at(0), by(rows), by(integers({1, 2}))})), (Numbers{1, 10}));
}

TEST(index, what_cannot_be_is_refused) {
  Tensor x = cube();
  EXPECT_EQ(code_of([&] { index(x, {at(2)}); }), Code::index);
  EXPECT_EQ(code_of([&] { index(x, {at(0), at(0), at(0), at(0)}); }), Code::index);
  EXPECT_EQ(code_of([&] { index(x, {ellipsis, ellipsis}); }), Code::index);
  EXPECT_EQ(code_of([&] { index(x, {range(0, 1, 0)}); }), Code::invalid);
  EXPECT_EQ(code_of([&] { index(x, {by(integers({0, 2}))}); }), Code::index);
  EXPECT_EQ(code_of([&] { index(x, {by(integers({-3}))}); }), Code::index);
  EXPECT_EQ(code_of([&] { index(x, {by(integers({1}) + integers({1}))}); }), Code::index);
  EXPECT_EQ(code_of([&] { index(x, {by(make({1}, {0.0}, Dtype::float32))}); }), Code::dtype);
  EXPECT_EQ(code_of([&] { index(x, {by(make({3}, {1, 0, 1}, Dtype::boolean))}); }), Code::index);
  EXPECT_EQ(code_of([&] {
              index(make({0, 2}, {}, Dtype::float32), {by(integers({0}))});
            }),
            Code::index);
}

TEST(index_put, ranges) {
  Tensor x = make({2, 3}, counting(6), Dtype::float32);
  EXPECT_EQ(read(index_put(x, {at(1), range(open, open, 2)}, make({2}, {7, 8}, Dtype::float32))),
            (Numbers{0, 1, 2, 7, 4, 8}));
  EXPECT_EQ(read(index_put(x, {all_of, range(open, open, -1)}, x)), (Numbers{2, 1, 0, 5, 4, 3}));
  EXPECT_EQ(read(index_put(x, {}, number(2, x.device()))), Numbers(6, 2));
  EXPECT_EQ(read(index_put(x, {range(1, 1)}, number(2, x.device()))), counting(6));
  Tensor narrow =
      index_put(make({3}, counting(3), Dtype::int8), {at(0)}, make({}, {3.9}, Dtype::float32));
  EXPECT_EQ(narrow.dtype(), Dtype::int8);
  EXPECT_EQ(read(narrow), (Numbers{3, 1, 2}));
  EXPECT_EQ(code_of([&] {
              index_put(x, {at(0)}, make({2}, {1, 2}, Dtype::float32));
            }),
            Code::shape);
}

TEST(index_put, the_last_of_equal_positions_stays) {
  Tensor x = make({4, 2}, counting(8), Dtype::float32);
  Tensor y =
      index_put(x, {by(integers({2, 0, 2}))}, make({3, 2}, {1, 2, 3, 4, 5, 6}, Dtype::float32));
  EXPECT_EQ(read(y), (Numbers{3, 4, 2, 3, 5, 6, 6, 7}));
  EXPECT_EQ(read(index_put(x, {all_of, by(integers({1, 1}))}, make({2}, {8, 9}, Dtype::float32))),
            (Numbers{0, 9, 2, 9, 4, 9, 6, 9}));
  EXPECT_EQ(read(index_put(x, {by(integers({}))}, make({2}, {1, 2}, Dtype::float32))), counting(8));
}

TEST(index_put, masks_and_separated_tensors) {
  Tensor x = make({2, 3}, counting(6), Dtype::float32);
  Tensor mask = greater(x, number(2, x.device()));
  EXPECT_EQ(read(index_put(x, {by(mask)}, number(-1, x.device()))), (Numbers{0, 1, 2, -1, -1, -1}));
  EXPECT_EQ(read(index_put(x, {by(mask)}, make({3}, {7, 8, 9}, Dtype::float32))),
            (Numbers{0, 1, 2, 7, 8, 9}));
  Tensor z = make({2, 3, 4}, counting(24), Dtype::float32);
  Tensor value = make({2, 3}, counting(6, 100), Dtype::float32);
  Tensor y = index_put(z, {by(integers({1, 0})), all_of, by(integers({3, 0}))}, value);
  Numbers expected = counting(24);
  for (size_t c = 0; c < 3; ++c) {
    expected[12 + 4 * c + 3] = 100 + static_cast<double>(c);
    expected[4 * c] = 103 + static_cast<double>(c);
  }
  EXPECT_EQ(read(y), expected);
  y = index_put(z, {at(1), range(1, 3), by(integers({3, 0}))},
                make({2, 2}, {1, 2, 3, 4}, Dtype::float32));
  expected = counting(24);
  expected[12 + 7] = 1, expected[12 + 11] = 2, expected[12 + 4] = 3, expected[12 + 8] = 4;
  EXPECT_EQ(read(y), expected);
}

TEST(index, every_way_of_running_agrees) {
  for (Dtype dtype : {Dtype::boolean, Dtype::uint8, Dtype::int16, Dtype::float16, Dtype::bfloat16,
                      Dtype::float32, Dtype::float64, Dtype::int64, Dtype::uint64}) {
    SCOPED_TRACE(name_of(dtype));
    everywhere([&](const Make& given) {
      Tensor x = given({6, 500, 9}, scattered(6 * 500 * 9, 60), dtype);
      Tensor rows = given({700}, scattered(700, 500, 3), Dtype::int64);
      return index(x, {range(1, open, 2), by(rows), range(open, open, -2)});
    });
    everywhere([&](const Make& given) {
      Tensor x = given({40, 50, 30}, scattered(40 * 50 * 30, 60), dtype);
      Tensor i = given({700, 1}, scattered(700, 40, 3), Dtype::int64);
      Tensor j = given({9}, scattered(9, 30, 4), Dtype::uint16);
      Tensor value = given({50}, scattered(50, 99, 7), dtype);
      return index_put(x, {by(i), range(1, open), by(j)}, slice(value, 0, 1, 49, 1));
    });
  }
}

TEST(index, traces_replay_and_refuse_shapes_that_depend_on_values) {
  Trace trace;
  Trace::Function pick{[](void*, const std::vector<Tensor>& in) {
                         Tensor rows = index(in[0], {by(in[1])});
                         Tensor mask = in[0] > 5.0;
                         return std::vector<Tensor>{
                             sort(rows, 1, true),
                             index_put(in[0], {by(mask)}, number(-1, in[0].device()))};
                       },
                       nullptr, 2};
  for (double k : {0.0, 1.0, 2.0}) {
    std::vector<Tensor> out =
        trace.call({make({3, 2}, counting(6, k), Dtype::float32), integers({k, -1})}, pick);
    EXPECT_EQ(read(out[0]), (Numbers{3 * k + 1, 3 * k, k + 5, k + 4}));
    Numbers expected = counting(6, k);
    for (double& value : expected) value = value > 5 ? -1 : value;
    EXPECT_EQ(read(out[1]), expected);
  }
  EXPECT_EQ(trace.count(), 1u);
  EXPECT_EQ(code_of([&] {
              trace.call({make({3, 2}, counting(6), Dtype::float32), integers({0, -80})}, pick);
            }),
            Code::index);

  Trace::Function find{
      [](void*, const std::vector<Tensor>& in) { return std::vector<Tensor>{nonzero(in[0])}; },
      nullptr, 1};
  Trace refused;
  EXPECT_EQ(code_of([&] {
              refused.call({make({3, 2}, counting(6), Dtype::float32)}, find);
            }),
            Code::trace);
}

TEST(index, gradients) {
  Tensor i = make({2, 2}, {0, 2, 2, 1}, Dtype::int64), j = integers({1, 1});
  Numbers at_x = scattered(24, 9);
  check_gradient(make({4, 3, 2}, at_x), [&](const Tensor& x) {
    return index(x, {range(1, open, 2), by(i), all_of});
  });
  check_gradient(make({4, 3, 2}, at_x), [&](const Tensor& x) {
    return index(x, {by(i), all_of, by(j)});
  });
  check_gradient(make({4, 6}, at_x), [&](const Tensor& x) { return index(x, {by(x > 4.5)}); });
  Tensor base = make({4, 3, 2}, scattered(24, 11, 4), Dtype::float64);
  check_gradient(make({4, 1}, scattered(4, 9)), [&](const Tensor& value) {
    return index_put(base, {range(open, open, -1), by(integers({1, 1, 0}))},
                     reshape(value, {4, 1, 1}));
  });
  check_gradient(make({4, 3, 2}, at_x), [&](const Tensor& x) {
    Tensor value = reshape(slice(reshape(x, {24}), 0, 3, 9, 1), {3, 3});
    return index_put(x, {range(0, 3), by(integers({1, 2, 1})), at(0)}, value);
  });
  check_gradient(make({4, 6}, at_x), [&](const Tensor& x) {
    return index_put(x, {range(1, 3), range(0, 6, 4)}, slice(sum(x, {0}), 0, 2, 2, 1));
  });
}

TEST(select, select_and_slice) {
  Tensor x = make({2, 3}, counting(6), Dtype::float32);
  EXPECT_EQ(read(select(x, 1, -1)), (Numbers{2, 5}));
  EXPECT_EQ(read(slice_between(x, 1, INT64_MIN, INT64_MIN, -1)), (Numbers{2, 1, 0, 5, 4, 3}));
  EXPECT_EQ(slice_between(x, 0, 5, 9, 1).shape(), (Shape{0, 3}));
  EXPECT_EQ(slice_between(x, 0, 0, INT64_MAX, INT64_MAX).shape(), (Shape{1, 3}));
  EXPECT_EQ(read(slice_between(x, 1, INT64_MAX, INT64_MIN + 1, INT64_MIN)), (Numbers{2, 5}));
  EXPECT_EQ(code_of([&] { select(x, 0, 2); }), Code::index);
  EXPECT_EQ(code_of([&] { slice_between(x, 0, 0, 1, 0); }), Code::invalid);
  check_gradient(make({3, 4}, scattered(12, 9)),
                 [](const Tensor& x) { return slice(x, 1, 3, 2, -2); });
}

TEST(flip, gradients_are_turned_back) {
  const Numbers at_x = scattered(12, 9);
  check_gradient(make({3, 4}, at_x), [](const Tensor& x) { return flip(x, {1}) * x; });
  check_gradient(make({3, 4}, at_x), [](const Tensor& x) { return flip(flip(x, {0, 1}), {0}); });
  // To memory in order.
  const Tensor x = leaf(make({3, 4}, at_x)), weights = make({3, 4}, scattered(12, 7));
  const Tensor gradient = gradients({sum(flip(x, {1}) * weights)}, {}, {x})[0];
  EXPECT_EQ(read(gradient), read(flip(weights, {1})));
  EXPECT_TRUE(is_contiguous(view_layout(gradient)));
}

}  // namespace
}  // namespace mt::testing
