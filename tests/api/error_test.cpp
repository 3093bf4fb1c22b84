// SPDX-License-Identifier: Apache-2.0
// The first error of a thread is kept, and protects what lasts.
#include <cmath>
#include <cstring>
#include <thread>

#include "api/support.h"

namespace {

class Errors : public Api {};

TEST_F(Errors, TheFirstIsKept) {
  mt_matmul(floats({1, 2, 3}), floats({1, 2}));
  EXPECT_EQ(mt_error(), MT_ESHAPE);
  std::string message = mt_error_message();
  EXPECT_NE(message.find("[3]"), std::string::npos) << message;
  EXPECT_NE(message.find("[2]"), std::string::npos) << message;
  mt_bitwise_and(floats({1}), floats({2}));
  EXPECT_EQ(mt_error(), MT_ESHAPE);
  EXPECT_EQ(message, mt_error_message());
  mt_clear();
  EXPECT_EQ(mt_error(), MT_OK);
  EXPECT_STREQ(mt_error_message(), "");
}

TEST_F(Errors, BeginWithTheFunctionsName) {
  EXPECT_EQ(mt_parameters_new(MT_F32, "abacus"), nullptr);
  EXPECT_TRUE(failed_with(MT_EDEVICE, "parameters_new: there is no device \"abacus\""));
  EXPECT_EQ(mt_set_default_device("abacus"), MT_EDEVICE);
  EXPECT_TRUE(failed_with(MT_EDEVICE, "set_default_device: there is no"));
  EXPECT_EQ(mt_device_description("abacus"), nullptr);
  EXPECT_TRUE(failed_with(MT_EDEVICE, "device_description: there is no"));
  mt_parameters* parameters = mt_parameters_new(MT_F32, nullptr);
  EXPECT_EQ(mt_parameters_to(parameters, MT_F32, "abacus"), MT_EDEVICE);
  EXPECT_TRUE(failed_with(MT_EDEVICE, "parameters_to: there is no"));
  mt_parameters_release(parameters);
  mt_function nothing = [](void*, mt_tensor* const*, size_t, mt_tensor**, size_t) -> mt_status {
    return MT_OK;
  };
  mt_trace* trace = mt_trace_new(nothing, nullptr);
  EXPECT_EQ(mt_explain_trace(trace), nullptr);
  EXPECT_TRUE(failed_with(MT_EINVAL, "explain_trace: the trace has recorded nothing"));
  mt_trace_release(trace);
  mt_tensor *plain = floats({1}), *found[1];
  EXPECT_EQ(mt_grad(&plain, 1, &plain, 0, nullptr, found), MT_ENOGRAD);
  EXPECT_TRUE(failed_with(MT_ENOGRAD, "grad: "));
}

TEST_F(Errors, NestedExpressionsPassNullOn) {
  mt_tensor* x = floats({1, 2, 3});
  mt_tensor* y = mt_mean(mt_square(mt_add(mt_matmul(x, floats({1, 2})), x)), nullptr, 0);
  EXPECT_EQ(y, nullptr);
  EXPECT_TRUE(std::isnan(mt_item(y)));
  EXPECT_EQ(mt_backward(y), MT_ESHAPE);
  EXPECT_TRUE(failed_with(MT_ESHAPE, "matmul"));
}

TEST_F(Errors, StateIsSafeWhileOneIsPending) {
  mt_tensor* w = mt_require_grad(floats({1, 2}));
  mt_backward(mt_sum(mt_square(w), nullptr, 0));
  mt_set_error(MT_EUSER, "stop");
  EXPECT_EQ(mt_sgd(&w, 1, 0.5), MT_EUSER);
  EXPECT_EQ(mt_assign(w, floats({7, 7})), MT_EUSER);
  EXPECT_EQ(mt_zero_grad(&w, 1), MT_EUSER);
  EXPECT_EQ(mt_backward(mt_sum(w, nullptr, 0)), MT_EUSER);
  EXPECT_EQ(numbers_of(w), Numbers({1, 2}));  // other functions still work
  EXPECT_EQ(numbers_of(mt_gradient(w)), Numbers({2, 4}));
  EXPECT_TRUE(failed_with(MT_EUSER, "stop"));
  EXPECT_EQ(mt_sgd(&w, 1, 0.5), MT_OK);
  EXPECT_EQ(numbers_of(w), Numbers({0, 0}));
}

TEST_F(Errors, ThreadsHaveTheirOwn) {
  mt_set_error(MT_EINDEX, "here");
  std::thread([] { EXPECT_EQ(mt_error(), MT_OK); }).join();
  EXPECT_TRUE(failed_with(MT_EINDEX, "here"));
}

TEST_F(Errors, UsersMaySetThem) {
  EXPECT_EQ(mt_set_error(17, "odd"), MT_EUSER);
  EXPECT_EQ(mt_set_error(MT_EIO, "second"), MT_EUSER);
  EXPECT_TRUE(failed_with(MT_EUSER, "odd"));
  mt_set_error(MT_EIO, nullptr);
  EXPECT_TRUE(failed_with(MT_EIO));
}

// A message is cut where it gets too long for the library or for the operator that fails, and never
// within a character.
TEST_F(Errors, MessagesAreCutBetweenCharacters) {
  std::string euros;
  for (int i = 0; i < 2000; ++i) euros += "\u20ac";
  for (std::string before : {"", "a", "ab"}) {
    const std::string text = before + euros;
    for (bool in_operator : {false, true}) {
      if (in_operator) {
        EXPECT_EQ(mt_load_npy(text.substr(0, before.size() + 1200).c_str(), nullptr), nullptr);
      } else {
        mt_set_error(MT_EUSER, text.c_str());
      }
      const std::string kept = mt_error_message();
      const size_t first = kept.find("\u20ac"), last = kept.rfind("\u20ac");
      EXPECT_EQ((last - first) % 3, 0u) << kept;
      EXPECT_EQ(static_cast<unsigned char>(kept.back()) < 0x80 ? 0 : kept.size() - last - 3, 0u);
      EXPECT_GT(kept.size(), 1000u);
      mt_clear();
    }
  }
}

TEST_F(Errors, AKeptMessageMayBeSetAgain) {
  mt_set_error(MT_EUSER, "callback: no such file");
  const char* without_name = mt_error_message() + std::strlen("callback: ");
  mt_clear();
  mt_set_error(MT_EIO, without_name);
  EXPECT_TRUE(failed_with(MT_EIO, "no such file"));
}

TEST_F(Errors, CodesHaveNames) {
  EXPECT_STREQ(mt_status_name(MT_OK), "MT_OK");
  for (mt_status code = MT_EUNSUPPORTED; code < 0; ++code) {
    EXPECT_EQ(std::string(mt_status_name(code)).substr(0, 4), "MT_E");
  }
  EXPECT_STREQ(mt_status_name(1), "unknown");
  EXPECT_STREQ(mt_status_name(-13), "unknown");
}

}  // namespace
