// SPDX-License-Identifier: Apache-2.0
#include "base/environment.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace mt {
namespace {

constexpr const char* variable = "MT_TEST_SETTING";

class Environment : public testing::Test {
 protected:
  void TearDown() override { unsetenv(variable); }

  // What is said about a value, `found` of which the reading gives.
  template <class Read>
  static std::string said_of(const char* value, int found, Read&& read) {
    setenv(variable, value, 1);
    testing::internal::CaptureStderr();
    EXPECT_EQ(read(), found) << value;
    return testing::internal::GetCapturedStderr();
  }
};

TEST_F(Environment, NamesOneOfSeveral) {
  auto read = [] { return named_setting(variable, {"0", "1", "nan"}); };
  EXPECT_EQ(read(), -1);
  EXPECT_EQ(said_of("", -1, read), "");
  EXPECT_EQ(said_of("0", 0, read), "");
  EXPECT_EQ(said_of("nan", 2, read), "");
  EXPECT_EQ(said_of("bogus", -1, read),
            "mtorch: MT_TEST_SETTING=bogus is ignored: it is 0 or 1 or nan\n");
}

TEST_F(Environment, Counts) {
  auto read = [] { return counted_setting(variable, 64); };
  EXPECT_EQ(read(), 0);
  EXPECT_EQ(said_of("", 0, read), "");
  EXPECT_EQ(said_of("1", 1, read), "");
  EXPECT_EQ(said_of("64", 64, read), "");
  for (const char* wrong : {"0", "65", "-1", "2x", " 2", "many", "99999999999"}) {
    EXPECT_NE(said_of(wrong, 0, read).find("a number from 1 to 64"), std::string::npos);
  }
}

}  // namespace
}  // namespace mt
