// SPDX-License-Identifier: Apache-2.0
// What tests of models and optimizers as a program in C uses them share.
#pragma once

#include <mtorch/mtorch.h>

#include "io/support.h"

namespace mt {

class NnApiTest : public FileTest {
 protected:
  NnApiTest() { mt_clear(); }
  ~NnApiTest() override { EXPECT_EQ(mt_error(), MT_OK) << mt_error_message(); }

  void expect_error(mt_status code, const char* part) {
    EXPECT_EQ(mt_error(), code) << mt_error_message();
    EXPECT_TRUE(contains(mt_error_message(), part)) << mt_error_message();
    mt_clear();
  }
  static std::vector<float> floats(mt_tensor* tensor) {
    std::vector<float> values(static_cast<size_t>(mt_size(tensor)));
    mt_copy_to_host(tensor, values.data(), values.size() * sizeof(float));
    return values;
  }
};

}  // namespace mt
