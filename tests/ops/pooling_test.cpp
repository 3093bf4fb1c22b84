// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdint>
#include <limits>

#include "autodiff/backward.h"
#include "ops/check.h"
#include "ops/ops.h"

namespace mt::testing {
namespace {

const Tensor square4 = make({1, 4, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16});

TEST(Pooling, Values) {
  Pooling tiles{{2, 2}, {2, 2}, {0, 0}, {1, 1}};
  expect_near(max_pool(square4, tiles), {6, 8, 14, 16});
  expect_near(avg_pool(square4, tiles), {3.5, 5.5, 11.5, 13.5});
  Pooling sliding{{2, 2}, {1, 1}, {0, 0}, {1, 1}};
  expect_near(max_pool(square4, sliding), {6, 7, 8, 10, 11, 12, 14, 15, 16});
  Pooling padded{{2, 2}, {2, 2}, {1, 1}, {1, 1}};
  expect_near(max_pool(neg(square4), padded), {-1, -2, -4, -5, -6, -8, -13, -14, -16});
  expect_near(avg_pool(square4, padded), {0.25, 1.25, 1, 3.5, 8.5, 5, 3.25, 7.25, 4});
  padded.exclude_padding = true;
  expect_near(avg_pool(square4, padded), {1, 2.5, 4, 7, 8.5, 10, 13, 14.5, 16});
  // Without room for a further window the rest is left out; one axis works alike.
  expect_near(max_pool(make({5}, {3, 1, 2, 9, 7}), {{2}, {2}, {0}, {1}}), {3, 9});
  expect_near(max_pool(make({5}, {3, 1, 2, 9, 7}), {{2}, {1}, {0}, {2}}), {3, 9, 7});
}

TEST(Pooling, EqualElementsShareTheGradient) {
  for (int64_t stride : {2, 1}) {
    Tensor x = leaf(make({4}, {5, 5, 1, 5}));
    Tensor y = max_pool(x, {{2}, {stride}, {0}, {1}});
    Tensor dx = gradients({sum(y)}, {}, {x})[0];
    if (stride == 2)
      expect_near(dx, {0.5, 0.5, 0, 1});
    else
      expect_near(dx, {0.5, 1.5, 0, 1});
  }
}

TEST(Pooling, GradientsAndDevices) {
  Pooling padded{{3, 2}, {2, 1}, {1, 1}, {1, 2}, true};
  for (const Pooling& how :
       {Pooling{{2, 3}, {2, 3}, {0, 0}, {1, 1}}, Pooling{{3, 2}, {1, 2}, {0, 0}, {1, 1}}, padded}) {
    for (auto pool : {max_pool, avg_pool}) {
      Function f = [&](const std::vector<Tensor>& t) { return pool(t[0], how); };
      check_gradients(f, {noise({2, 5, 7}, 1)}, 1);
      check_devices(f, {{2, 3, 5, 7}});
      check_devices(f, {{2, 3, 5, 7}}, Dtype::float16, 2e-3);
    }
  }
}

TEST(Pooling, NamesFaults) {
  EXPECT_EQ(message_of([] {
              max_pool(noise({1, 2}, 1), {{3}, {3}, {0}, {1}});
            }),
            "max_pool1d: [1,2]: windows [3] with padding [0] are larger than the padded input");
  EXPECT_EQ(message_of([] {
              avg_pool(noise({4}, 1), {{2}, {2}, {2}, {1}});
            }),
            "avg_pool1d: size [2], stride [2], padding [2] and dilation [1] cannot be");
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  for (const Pooling& beyond :
       {Pooling{{2}, {1}, {most}, {1}}, Pooling{{2}, {1}, {most / 2 + 1}, {1}},
        Pooling{{3}, {1}, {1}, {most / 2 + 1}}, Pooling{{most}, {1}, {0}, {1}},
        Pooling{{most}, {1}, {most / 2}, {1}}, Pooling{{most}, {1}, {0}, {most}}}) {
    EXPECT_NE(message_of([&] { max_pool(noise({1, 5}, 1), beyond); }), "");
  }
}

}  // namespace
}  // namespace mt::testing
