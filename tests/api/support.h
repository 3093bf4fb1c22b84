// SPDX-License-Identifier: Apache-2.0
// For tests through the C interface alone.
#pragma once

#include <gtest/gtest.h>
#include <mtorch/mtorch.h>

#include <string>
#include <vector>

// The pending error is `code`, its message contains `part`, and it is cleared.
inline testing::AssertionResult failed_with(mt_status code, const std::string& part = "") {
  mt_status found = mt_error();
  std::string message = mt_error_message();
  mt_clear();
  if (found != code) {
    return testing::AssertionFailure() << "expected " << mt_status_name(code) << ", got "
                                       << mt_status_name(found) << " \"" << message << '"';
  }
  if (message.find(part) == std::string::npos) {
    return testing::AssertionFailure() << '"' << message << "\" lacks \"" << part << '"';
  }
  return testing::AssertionSuccess();
}

inline int64_t used_bytes() {
  mt_memory memory = MT_MEMORY_INIT;
  mt_memory_read("cpu", &memory);
  return memory.used;
}

// Every test runs in a scope, starts and ends without error, and gives all memory back.
class Api : public testing::Test {
 protected:
  void SetUp() override {
    mt_clear();
    used_ = used_bytes();
    scope_ = mt_scope_begin();
  }
  void TearDown() override {
    mt_scope_end(scope_);
    EXPECT_EQ(mt_error(), MT_OK) << mt_error_message();
    EXPECT_EQ(used_bytes(), used_) << "memory was not given back";
  }

 private:
  mt_scope* scope_ = nullptr;
  int64_t used_ = 0;
};

inline mt_tensor* floats(const std::vector<float>& numbers, std::vector<int64_t> dims = {}) {
  if (dims.empty()) dims = {static_cast<int64_t>(numbers.size())};
  return mt_from_data(numbers.data(), dims.data(), dims.size(), MT_F32, nullptr);
}

inline mt_tensor* doubles(const std::vector<double>& numbers, std::vector<int64_t> dims = {}) {
  if (dims.empty()) dims = {static_cast<int64_t>(numbers.size())};
  return mt_from_data(numbers.data(), dims.data(), dims.size(), MT_F64, nullptr);
}

inline std::vector<double> numbers_of(mt_tensor* tensor) {
  mt_tensor* wide = mt_take(mt_astype(tensor, MT_F64));
  std::vector<double> result(static_cast<size_t>(mt_size(tensor)));
  mt_copy_to_host(wide, result.data(), result.size() * sizeof(double));
  mt_release(wide);
  return result;
}

inline std::vector<int64_t> dims_of(mt_tensor* tensor) {
  return std::vector<int64_t>(mt_dims(tensor), mt_dims(tensor) + mt_ndim(tensor));
}

using Numbers = std::vector<double>;
