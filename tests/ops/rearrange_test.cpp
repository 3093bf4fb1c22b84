// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"
#include "fusion/trace.h"
#include "ops/check.h"
#include "ops/ops.h"

namespace mt::testing {
namespace {

TEST(tile, and_repeat) {
  Tensor x = make({2, 2}, counting(4, 1), Dtype::float32);
  EXPECT_EQ(read(tile(x, {2, 2})), (Numbers{1, 2, 1, 2, 3, 4, 3, 4, 1, 2, 1, 2, 3, 4, 3, 4}));
  EXPECT_EQ(read(tile(x, {2})), (Numbers{1, 2, 1, 2, 3, 4, 3, 4}));
  EXPECT_EQ(tile(x, {3, 1, 0}).shape(), (Shape{3, 2, 0}));
  EXPECT_EQ(read(repeat(x, 2, 0)), (Numbers{1, 2, 1, 2, 3, 4, 3, 4}));
  EXPECT_EQ(read(repeat(x, 2, 1)), (Numbers{1, 1, 2, 2, 3, 3, 4, 4}));
  EXPECT_EQ(repeat(x, 0, 1).shape(), (Shape{2, 0}));
  EXPECT_EQ(code_of([&] { tile(x, {-1}); }), Code::invalid);
  EXPECT_EQ(code_of([&] { repeat(x, -1, 0); }), Code::invalid);
  EXPECT_EQ(code_of([&] { repeat(x, INT64_MAX, 0); }), Code::shape);
  EXPECT_EQ(code_of([&] { repeat(x, INT64_MAX / 2, 0); }), Code::shape);
  for (double most : {0x1p62, 0x1p60}) {  // so many that their sum wraps round, or no memory has
    Tensor counts = make({4}, Numbers(4, most), Dtype::int64);
    EXPECT_EQ(code_of([&] { repeat(reshape(x, {4}), counts, 0); }), Code::shape);
  }
  // Where no dimension can be added.
  Shape most = Shape::filled(max_rank, 1);
  most[max_rank - 1] = 4;
  Tensor deep = reshape(x, most);
  EXPECT_EQ(read(tile(deep, {2})), (Numbers{1, 2, 3, 4, 1, 2, 3, 4}));
  EXPECT_EQ(read(repeat(deep, 2, -1)), (Numbers{1, 1, 2, 2, 3, 3, 4, 4}));
  EXPECT_EQ(read(tile(reshape(x, {4}), Dims::filled(max_rank, 1))), (Numbers{1, 2, 3, 4}));
}

// However many counts there are, and wherever they come from.
TEST(repeat, by_counts_is_refused_in_a_trace) {
  Tensor outside = make({1}, {2}, Dtype::int64);
  Trace::Function by_outside{
      [](void* counts, const std::vector<Tensor>& in) {
        return std::vector<Tensor>{repeat(in[0], *static_cast<Tensor*>(counts), 0)};
      },
      &outside, 1};
  Trace::Function by_input{[](void*, const std::vector<Tensor>& in) {
                             return std::vector<Tensor>{repeat(in[0], in[1], 0)};
                           },
                           nullptr, 1};
  const Tensor x = make({2}, {1, 2}, Dtype::float32);
  auto message = [&](const Trace::Function& function, Numbers counts) {
    Trace trace;
    try {
      trace.call({x, make({static_cast<int64_t>(counts.size())}, counts, Dtype::int64)}, function);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::trace);
      return std::string(error.what());
    }
    return std::string();
  };
  const std::string expected = message(by_input, {2, 1});
  EXPECT_NE(expected.find("repeat: the shape of its result depends on values"), std::string::npos);
  EXPECT_EQ(message(by_input, {2}), expected);
  EXPECT_EQ(message(by_outside, {2}), expected);
}

}  // namespace
}  // namespace mt::testing
