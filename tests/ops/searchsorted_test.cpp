// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/check.h"
#include "ops/ops.h"

namespace mt::testing {
namespace {

TEST(searchsorted, every_dtype_agrees) {
  for (Dtype dtype : every_dtype) {
    for (bool right : {false, true}) {
      for (int64_t length : {0, 1, 2, 3, 8, 300}) {
        SCOPED_TRACE(std::string(name_of(dtype)) + " " + std::to_string(length));
        everywhere([&](const Make& given) {
          Tensor sorted = sort(given({length}, special(length), dtype), 0, false);
          return searchsorted(sorted, given({50, 51}, special(50 * 51), dtype), right);
        });
      }
    }
  }
  EXPECT_EQ(read(searchsorted(make({4}, {-0.0, 1, 1, NAN}, Dtype::float32),
                              make({4}, {0, 1, 2, NAN}, Dtype::float32), true)),
            (Numbers{1, 3, 3, 4}));
}

}  // namespace
}  // namespace mt::testing
