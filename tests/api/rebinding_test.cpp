// SPDX-License-Identifier: Apache-2.0
// Values never change in place; handles are bound to new ones. Memory that others own.
#include "api/support.h"

namespace {

class Rebinding : public Api {};

TEST_F(Rebinding, OtherHandlesKeepTheOldValue) {
  mt_tensor* x = floats({1, 2});
  mt_tensor* view = mt_reshape(x, MT_DIMS(2, 1));
  mt_tensor* pending = mt_square(x);
  mt_assign(x, floats({5, 6}));
  EXPECT_EQ(numbers_of(x), Numbers({5, 6}));
  EXPECT_EQ(numbers_of(view), Numbers({1, 2}));
  EXPECT_EQ(numbers_of(pending), Numbers({1, 4}));
}

TEST_F(Rebinding, ChainsOfUpdatesStayShort) {
  mt_tensor* x = mt_zeros(MT_DIMS(100), MT_F32, nullptr);
  for (int i = 0; i < 10000; ++i) MT_SCOPE {
      mt_assign(x, mt_add(x, mt_number(1)));
    }
  EXPECT_EQ(mt_item(mt_mean(x, nullptr, 0)), 10000);
}

TEST_F(Rebinding, AHandleTakesOverTheHistory) {
  mt_tensor* w = mt_require_grad(floats({3}));
  mt_tensor* x = floats({0});
  mt_assign(x, mt_square(w));
  EXPECT_TRUE(mt_requires_grad(x));
  mt_backward(x);
  EXPECT_EQ(mt_item(mt_gradient(w)), 6);
}

TEST_F(Rebinding, ATraceTellsPlacesOfOneValueApart) {
  struct Places {
    mt_tensor *moving, *kept;
  } places = {floats({0}), floats({0})};
  mt_assign(places.moving, floats({1}));
  mt_assign(places.kept, places.moving);
  auto function = [](void* user, mt_tensor* const*, size_t, mt_tensor** results, size_t) {
    auto* at = static_cast<Places*>(user);
    results[0] = mt_add(mt_mul(at->moving, mt_number(10)), at->kept);
    return mt_assign(at->moving, mt_add(at->moving, mt_number(1)));
  };
  mt_trace* trace = mt_trace_new(function, &places);
  for (double expected : {11, 21, 31}) {
    mt_tensor* result = nullptr;
    ASSERT_EQ(mt_trace_call(trace, nullptr, 0, &result, 1), MT_OK) << mt_error_message();
    EXPECT_EQ(mt_item(result), expected);
  }
  EXPECT_EQ(mt_trace_count(trace), 1u);
  EXPECT_EQ(mt_item(places.kept), 1);
  mt_trace_release(trace);
}

TEST_F(Rebinding, ATraceRebindsItsInputsForItselfAlone) {
  auto function = [](void*, mt_tensor* const* x, size_t, mt_tensor** results, size_t) {
    mt_assign(x[0], mt_add(x[0], mt_number(1)));
    results[0] = mt_mul(x[0], mt_number(10));
    return mt_error();
  };
  mt_trace* trace = mt_trace_new(function, nullptr);
  mt_tensor* x = floats({1, 2});
  for (int i = 0; i < 3; ++i) {
    mt_tensor* result = nullptr;
    ASSERT_EQ(mt_trace_call(trace, &x, 1, &result, 1), MT_OK) << mt_error_message();
    EXPECT_EQ(numbers_of(result), Numbers({20, 30}));
    EXPECT_EQ(numbers_of(x), Numbers({1, 2}));
  }
  EXPECT_EQ(mt_trace_count(trace), 1u);
  mt_trace_release(trace);
}

TEST_F(Rebinding, WhatATraceReadsMayBeReboundLater) {
  mt_tensor* scale = floats({1, 2});
  auto function = [](void* user, mt_tensor* const* x, size_t, mt_tensor** results, size_t) {
    results[0] = mt_mul(x[0], static_cast<mt_tensor*>(user));
    return mt_error();
  };
  mt_tensor* x = floats({10, 10});
  mt_trace* trace = mt_trace_new(function, scale);
  for (float i = 1; i < 4; ++i) {
    mt_tensor* result = nullptr;
    ASSERT_EQ(mt_trace_call(trace, &x, 1, &result, 1), MT_OK) << mt_error_message();
    EXPECT_EQ(numbers_of(result), Numbers({10 * i, 10 * i + 10}));
    EXPECT_EQ(mt_trace_count(trace), 1u);
    mt_assign(scale, mt_add(scale, mt_number(1)));
  }
  mt_trace_release(trace);
}

// It was a plain tensor when the function was recorded.
TEST_F(Rebinding, WhatATraceFirstChangesIsReadAnew) {
  struct State {
    mt_tensor *total = mt_take(floats({0, 0})), *beside = mt_take(mt_detach(total));
    int calls = 0;
  } state;
  auto function = [](void* user, mt_tensor* const* x, size_t, mt_tensor** results,
                     size_t) -> mt_status {
    State* own = static_cast<State*>(user);
    ++own->calls;
    results[0] = mt_sub(mt_add(own->total, x[0]), own->beside);
    return mt_assign(own->total, results[0]);
  };
  mt_tensor* x = floats({1, 2});
  mt_trace* trace = mt_trace_new(function, &state);
  for (double expected : {2, 4, 6, 8}) {
    mt_tensor* result = nullptr;
    ASSERT_EQ(mt_trace_call(trace, &x, 1, &result, 1), MT_OK) << mt_error_message();
    EXPECT_EQ(mt_item(mt_select(result, 0, 1)), expected);
    EXPECT_EQ(mt_item(mt_select(state.total, 0, 1)), expected);
  }
  EXPECT_EQ(mt_item(mt_sum(state.beside, nullptr, 0)), 0);
  EXPECT_EQ(mt_trace_count(trace), 1u);
  EXPECT_EQ(state.calls, 2);
  mt_trace_release(trace);
  mt_release(state.total), mt_release(state.beside);
}

TEST_F(Rebinding, FunctionsMaySetFewerResults) {
  auto function = [](void*, mt_tensor* const* x, size_t, mt_tensor** results, size_t) -> mt_status {
    results[0] = mt_square(x[0]);
    results[1] = mt_neg(x[0]);
    return mt_error();
  };
  mt_tensor* x = floats({3});
  mt_trace* trace = mt_trace_new(function, nullptr);
  for (size_t most : {5, 2, 3}) {
    mt_tensor* results[5] = {x, x, x, x, x};
    ASSERT_EQ(mt_trace_call(trace, &x, 1, results, most), MT_OK) << mt_error_message();
    EXPECT_EQ(mt_item(results[0]), 9);
    EXPECT_EQ(mt_item(results[1]), -3);
    for (size_t i = 2; i < most; ++i) EXPECT_EQ(results[i], nullptr);
  }
  EXPECT_EQ(mt_trace_count(trace), 1u);
  mt_trace_release(trace);
  mt_tensor* results[3] = {};
  EXPECT_EQ(mt_checkpoint(function, nullptr, &x, 1, results, 3), MT_OK);
  EXPECT_EQ(mt_item(results[1]), -3);
  EXPECT_EQ(results[2], nullptr);
}

TEST_F(Rebinding, MapsKeepTheirValue) {
  mt_tensor* x = mt_take(floats({1, 2, 3}));
  const float* first = static_cast<const float*>(mt_map(x));
  mt_assign(x, floats({7, 8, 9}));
  const float* second = static_cast<const float*>(mt_map(x));
  EXPECT_EQ(first[2], 3);
  EXPECT_EQ(second[0], 7);
  mt_release(x);
  EXPECT_EQ(first[0], 1);
  mt_unmap(x);
  EXPECT_EQ(first[1] + second[1], 10);
  mt_unmap(x);
}

TEST_F(Rebinding, MappedMemoryIsNotTakenOver) {
  mt_tensor* x = mt_square(mt_ones(MT_DIMS(5000), MT_F32, nullptr));
  const float* before = static_cast<const float*>(mt_map(x));
  mt_assign(x, mt_add(x, mt_number(1)));
  EXPECT_EQ(mt_item(mt_sum(x, nullptr, 0)), 10000);
  for (int i = 0; i < 5000; ++i) ASSERT_EQ(before[i], 1);
  mt_unmap(x);
}

TEST_F(Rebinding, MapsOfViewsAreContiguous) {
  mt_tensor* x = mt_matrix_transpose(floats({1, 2, 3, 4, 5, 6}, {2, 3}));
  const float* values = static_cast<const float*>(mt_map(x));
  EXPECT_EQ(std::vector<float>(values, values + 6), std::vector<float>({1, 4, 2, 5, 3, 6}));
  mt_unmap(x);
  mt_tensor* empty = mt_zeros(MT_DIMS(3, 0), MT_F32, nullptr);
  EXPECT_NE(mt_map(empty), nullptr);
  mt_unmap(empty);
}

TEST_F(Rebinding, StridedMapsShowViewsWhereTheyLie) {
  mt_tensor* x = floats({1, 2, 3, 4, 5, 6}, {2, 3});
  const float* all = static_cast<const float*>(mt_map(x));
  auto expect_view = [&](mt_tensor* view, Numbers expected, int64_t apart, int64_t next) {
    int64_t strides[2] = {};
    const float* first = static_cast<const float*>(mt_map_strided(view, strides));
    EXPECT_TRUE(first >= all && first < all + 6);
    EXPECT_EQ(strides[0], apart);
    EXPECT_EQ(strides[1], next);
    Numbers found;
    for (int64_t i = 0; i < mt_dim(view, 0); ++i) {
      for (int64_t j = 0; j < mt_dim(view, 1); ++j) found.push_back(first[i * apart + j * next]);
    }
    EXPECT_EQ(found, expected);
    mt_unmap(view);
  };
  expect_view(mt_matrix_transpose(x), {1, 4, 2, 5, 3, 6}, 1, 3);
  const int64_t axis[] = {1};
  expect_view(mt_flip(x, axis, 1), {3, 2, 1, 6, 5, 4}, 3, -1);
  expect_view(mt_broadcast_to(mt_slice(x, 1, 1, 2, 1), MT_DIMS(2, 2)), {2, 2, 5, 5}, 3, 0);
  // It stays when the handle is bound anew.
  mt_tensor* view = mt_matrix_transpose(x);
  int64_t strides[2];
  const float* kept = static_cast<const float*>(mt_map_strided(view, strides));
  mt_assign(view, mt_zeros(MT_DIMS(3, 2), MT_F32, nullptr));
  mt_unmap(x);
  mt_release(mt_take(x));
  EXPECT_EQ(kept[strides[0]], 2);
  mt_unmap(view);
  mt_tensor* number = mt_number(3);
  EXPECT_EQ(*static_cast<const float*>(mt_map_strided(number, nullptr)), 3);
  mt_unmap(number);
  EXPECT_EQ(mt_map_strided(view, nullptr), nullptr);
  EXPECT_EQ(mt_error(), MT_ENULL);
  mt_clear();
}

void count_call(void* user) { ++*static_cast<int*>(user); }

TEST_F(Rebinding, WrappedMemoryIsReadAndReturned) {
  float data[4] = {1, 2, 3, 4};
  int done = 0;
  mt_tensor* total = nullptr;
  MT_SCOPE {
    mt_tensor* x = mt_wrap(data, MT_DIMS(4), MT_F32, nullptr, count_call, &done);
    total = mt_take(mt_sum(x, nullptr, 0));
  }
  EXPECT_EQ(done, 0) << "the pending sum still needs the memory";
  EXPECT_EQ(mt_item(total), 10);
  EXPECT_EQ(done, 1);
  mt_release(total);
  EXPECT_EQ(mt_wrap(data, MT_DIMS(-1), MT_F32, nullptr, count_call, &done), nullptr);
  EXPECT_TRUE(failed_with(MT_ESHAPE));
  EXPECT_EQ(done, 1) << "a call that fails leaves the memory alone";
}

TEST_F(Rebinding, WhoGetsMemoryBackFromAMapMayEndAnother) {
  mt_tensor* source = mt_zeros(MT_DIMS(100), MT_F32, nullptr);
  auto end = [](void* mapped) { mt_unmap(static_cast<mt_tensor*>(mapped)); };
  mt_tensor* x =
      mt_wrap(const_cast<void*>(mt_map(source)), MT_DIMS(100), MT_F32, nullptr, end, source);
  EXPECT_NE(mt_map(x), nullptr);
  mt_assign(x, mt_ones(MT_DIMS(100), MT_F32, nullptr));
  mt_unmap(x);  // the last that the wrapped memory was needed for
  mt_unmap(source);
  EXPECT_TRUE(failed_with(MT_EINVAL, "not mapped"));
}

TEST_F(Rebinding, WhoGetsMemoryBackFromATraceMayCallIt) {
  struct User {
    mt_trace* trace = nullptr;
    float data = 40;
    mt_tensor *kept = nullptr, *x = mt_take(floats({1, 2}));
    int calls = 0;

    static void call(void* user) {
      auto* own = static_cast<User*>(user);
      mt_tensor* result = nullptr;
      EXPECT_EQ(mt_trace_call(own->trace, &own->x, 1, &result, 1), MT_OK) << mt_error_message();
      EXPECT_EQ(numbers_of(result), Numbers({2, 4}));
      ++own->calls;
    }
    static mt_status apply(void* user, mt_tensor* const* x, size_t, mt_tensor** results, size_t) {
      auto* own = static_cast<User*>(user);
      mt_tensor* other = mt_size(x[0]) == 1 ? own->kept : x[0];
      results[0] = mt_add(x[0], other);
      return mt_error();
    }
  } user;
  auto call_with = [&](int64_t size) {
    mt_tensor *x = mt_full(MT_DIMS(size), 2, MT_F32, nullptr), *result = nullptr;
    ASSERT_EQ(mt_trace_call(user.trace, &x, 1, &result, 1), MT_OK) << mt_error_message();
    EXPECT_EQ(mt_item(mt_select(result, 0, 0)), size == 1 ? 42 : 4);
  };
  user.trace = mt_trace_new(User::apply, &user);
  auto wrap = [&] {
    return mt_take(mt_wrap(&user.data, MT_DIMS(1), MT_F32, nullptr, User::call, &user));
  };
  // A recording that makes room for another one.
  user.kept = wrap();
  MT_SCOPE call_with(1);
  mt_release(user.kept);
  for (int64_t size = 2; size <= 65; ++size) MT_SCOPE call_with(size);
  EXPECT_EQ(user.calls, 1);
  // One whose value has become state.
  user.kept = wrap();
  MT_SCOPE call_with(1);
  MT_SCOPE mt_assign(user.kept, mt_zeros(MT_DIMS(1), MT_F32, nullptr));
  EXPECT_EQ(user.calls, 1);
  MT_SCOPE call_with(3);
  EXPECT_EQ(user.calls, 2);
  mt_release(user.kept);
  mt_trace_release(user.trace);
  mt_release(user.x);
}

TEST_F(Rebinding, WrappedMemoryIsNeverWritten) {
  float data[3] = {1, 2, 3};
  mt_tensor* x = mt_wrap(data, MT_DIMS(3), MT_F32, nullptr, nullptr, nullptr);
  mt_assign(x, mt_mul(x, x));
  mt_eval(&x, 1);
  EXPECT_EQ(data[2], 3);
  EXPECT_EQ(numbers_of(x), Numbers({1, 4, 9}));
}

TEST_F(Rebinding, MutableMemoryIsReadAtTheCall) {
  float data[2] = {1, 2};
  mt_tensor* x = mt_wrap_mutable(data, MT_DIMS(2), MT_F32, nullptr, nullptr, nullptr);
  mt_tensor* before = mt_mul(x, mt_number(10));
  mt_tensor* view = mt_flip(x, nullptr, 0);
  data[0] = 5;
  mt_tensor* after = mt_mul(x, mt_number(10));
  EXPECT_EQ(numbers_of(before), Numbers({10, 20}));
  EXPECT_EQ(numbers_of(view), Numbers({2, 1}));
  EXPECT_EQ(numbers_of(after), Numbers({50, 20}));
  mt_require_grad(x);
  mt_backward(mt_sum(mt_square(x), nullptr, 0));
  EXPECT_EQ(numbers_of(mt_gradient(x)), Numbers({10, 4}));
}

}  // namespace
