// SPDX-License-Identifier: Apache-2.0
// Who owns a handle, and when it goes.
#include <thread>

#include "api/support.h"

namespace {

class Scope : public Api {};

// A tensor of 4096 bytes whose memory shows in used_bytes() as long as it lives.
mt_tensor* visible() {
  std::vector<float> numbers(1024, 1);
  return floats(numbers);
}

TEST_F(Scope, EndReleasesWhatTheScopeOwns) {
  int64_t before = used_bytes();
  mt_scope* scope = mt_scope_begin();
  visible();
  EXPECT_GT(used_bytes(), before);
  EXPECT_EQ(mt_scope_end(scope), nullptr);
  EXPECT_EQ(used_bytes(), before);
}

TEST_F(Scope, EndingAnOuterScopeEndsInnerOnes) {
  int64_t before = used_bytes();
  mt_scope* outer = mt_scope_begin();
  visible();
  mt_scope* inner = mt_scope_begin();
  visible();
  mt_scope_end(outer);
  EXPECT_EQ(used_bytes(), before);
  mt_scope_end(inner);
  EXPECT_TRUE(failed_with(MT_EINVAL, "scope_end"));
}

TEST_F(Scope, TakenTensorsOutliveTheScope) {
  mt_tensor* kept = nullptr;
  MT_SCOPE { kept = mt_take(floats({1, 2})); }
  EXPECT_EQ(numbers_of(kept), Numbers({1, 2}));
  EXPECT_EQ(mt_take(kept), kept);  // again: harmless
  mt_release(kept);
}

TEST_F(Scope, RetainAddsAnOwner) {
  mt_tensor* kept = nullptr;
  MT_SCOPE { kept = mt_retain(floats({3})); }
  EXPECT_EQ(mt_item(kept), 3);
  mt_release(kept);
}

TEST_F(Scope, ReleaseTakesATensorOutEarly) {
  int64_t before = used_bytes();
  MT_SCOPE {
    mt_tensor* first = visible();
    mt_tensor* second = visible();
    mt_tensor* third = visible();
    mt_release(second);
    mt_release(first);
    mt_release(third);
    EXPECT_EQ(used_bytes(), before);
  }
}

TEST_F(Scope, WithoutAScopeTheCallerOwns) {
  std::thread([] {
    int64_t before = used_bytes();
    mt_tensor* x = visible();
    mt_tensor* y = mt_square(x);
    mt_eval(&y, 1);
    EXPECT_GT(used_bytes(), before);
    mt_release(x);
    mt_release(y);
    EXPECT_EQ(used_bytes(), before);
  }).join();
}

TEST_F(Scope, AThreadsEndEndsItsScopes) {
  int64_t before = used_bytes();
  std::thread([] {
    mt_scope_begin();
    visible();
    mt_scope_begin();
    visible();
  }).join();
  EXPECT_EQ(used_bytes(), before);
}

TEST_F(Scope, AnotherThreadMayTakeAndRelease) {
  mt_tensor* given = floats({5});
  mt_tensor* early = visible();
  std::thread([&] {
    mt_take(given);
    mt_release(early);
  }).join();
  EXPECT_EQ(mt_item(given), 5);
  mt_release(given);
}

TEST_F(Scope, ManyThreadsReleaseFromOneScope) {
  int64_t before = used_bytes();
  const std::vector<float> numbers(32, 1);  // as many bytes as show
  std::vector<mt_tensor*> handles;
  for (int i = 0; i < 4000; ++i) handles.push_back(floats(numbers));
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (size_t i = t; i < handles.size(); i += 4) mt_release(handles[i]);
      EXPECT_EQ(mt_error(), MT_OK) << mt_error_message();
    });
  }
  mt_tensor* sum = mt_number(0);
  for (int i = 0; i < 1000; ++i) sum = mt_add(sum, mt_number(i));
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(mt_item(sum), 499500);
  EXPECT_EQ(used_bytes(), before);
}

TEST_F(Scope, AnotherThreadsScopeCannotBeEnded) {
  mt_scope* scope = mt_scope_begin();
  std::thread([&] {
    mt_scope_end(scope);
    EXPECT_TRUE(failed_with(MT_EINVAL, "not open on this thread"));
  }).join();
  mt_scope_end(scope);
}

int leave_early() {
  MT_SCOPE {
    visible();
    return 1;
  }
  return 0;
}

TEST_F(Scope, ReturningFromABlockCleansUp) {
  int64_t before = used_bytes();
  EXPECT_EQ(leave_early(), 1);
  EXPECT_EQ(used_bytes(), before);
}

}  // namespace
