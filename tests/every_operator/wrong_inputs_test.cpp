// SPDX-License-Identifier: Apache-2.0
// Every operator with what it is not made for: it gives a value or says why not, changes nothing,
// and the process lives on.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>

#include "every_operator/cases.h"

namespace every_operator {

void PrintTo(const Case& one, std::ostream* out);
std::string name_of(const testing::TestParamInfo<Case>& info);
const char* tested();

namespace {

class WrongInputs : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override { mt_set_memory_limit(tested(), int64_t{1} << 28); }
  void TearDown() override {
    mt_set_memory_limit(tested(), 0);
    EXPECT_EQ(mt_error(), MT_OK) << mt_error_message();
    mt_clear();
  }

  static std::vector<mt_tensor*> inputs() { return GetParam().make_inputs(MT_F32, tested()); }

  static std::string bytes_of(mt_tensor* tensor) {
    std::string bytes(static_cast<size_t>(mt_size(tensor)) * mt_dtype_size(mt_dtype_of(tensor)), 0);
    mt_copy_to_host(tensor, bytes.data(), bytes.size());
    return bytes;
  }

  static void expect_value_or_reason(const Case& one, const std::vector<mt_tensor*>& in) {
    mt_tensor* result = one.call(in.data());
    EXPECT_EQ(!result, mt_error() != MT_OK) << mt_error_message();
    const int64_t size = result ? mt_size(result) : 0;
    EXPECT_GE(size, 0);
    if (size < 1 << 20) mt_eval(&result, result ? 1 : 0);
    if (mt_error() != MT_OK) {
      EXPECT_STRNE(mt_error_message(), "");
      EXPECT_STRNE(mt_status_name(mt_error()), "unknown");
    }
    mt_clear();
  }
  // The same after what f() does with it, each in a scope.
  static void expect_unchanged(const std::function<void()>& f) {
    std::string before, after;
    MT_SCOPE { before = bytes_of(GetParam().call(inputs().data())); }
    f();
    MT_SCOPE { after = bytes_of(GetParam().call(inputs().data())); }
    EXPECT_EQ(before, after);
  }
};

// Tensors in the place of one that fits.
const std::vector<std::function<mt_tensor*(mt_tensor*)>> instead = {
    [](mt_tensor*) { return static_cast<mt_tensor*>(nullptr); },
    [](mt_tensor* x) { return mt_astype(x, MT_BOOL); },
    [](mt_tensor* x) { return mt_astype(x, MT_I8); },
    [](mt_tensor* x) { return mt_astype(x, MT_U64); },
    [](mt_tensor* x) { return mt_astype(x, MT_F16); },
    [](mt_tensor* x) { return mt_astype(x, MT_F64); },
    [](mt_tensor* x) { return mt_to_device(x, "cpu:reference"); },
    [](mt_tensor*) { return mt_number(NAN); },
    [](mt_tensor*) { return mt_whole_number(-1); },
    [](mt_tensor* x) { return mt_expand_dims(x, 0); },
    [](mt_tensor* x) { return mt_expand_dims(x, -1); },
    [](mt_tensor* x) { return mt_reshape(x, MT_DIMS(-1)); },
    [](mt_tensor* x) { return mt_sum(x, nullptr, 0); },
    [](mt_tensor* x) { return mt_ndim(x) ? mt_slice(x, 0, 0, 0, 1) : nullptr; },
    [](mt_tensor* x) { return mt_ndim(x) ? mt_slice(x, -1, 0, 0, 1) : nullptr; },
    [](mt_tensor* x) { return mt_ndim(x) ? mt_slice(x, -1, 0, 1, 1) : nullptr; },
    [](mt_tensor* x) { return mt_ndim(x) ? mt_repeat(x, 2, 0) : nullptr; },
    [](mt_tensor* x) { return mt_ndim(x) ? mt_repeat(x, 3, -1) : nullptr; },
    [](mt_tensor* x) { return mt_full_like(x, 1e18); },
    [](mt_tensor* x) { return mt_full_like(x, -1e18); },
    [](mt_tensor* x) { return mt_full_like(x, 17); },
    [](mt_tensor* x) { return mt_full_like(x, -1); },
    [](mt_tensor* x) { return mt_full_like(x, INFINITY); },
    [](mt_tensor* x) { return mt_full_like(x, NAN); },
};

TEST_P(WrongInputs, OtherTensors) {
  expect_unchanged([] {
    for (size_t i = 0; i < GetParam().inputs.size(); ++i) {
      for (size_t k = 0; k < instead.size(); ++k) MT_SCOPE {
          SCOPED_TRACE("input " + std::to_string(i) + ", instead of it " + std::to_string(k));
          std::vector<mt_tensor*> in = inputs();
          in[i] = instead[k](in[i]);
          ASSERT_EQ(mt_error(), MT_OK) << mt_error_message();
          expect_value_or_reason(GetParam(), in);
        }
    }
  });
}

// Calls f after each change of a number or a text within a call's arguments.
void with_others(Json* json, const std::function<void()>& f) {
  const Json before = *json;
  const auto each = [&](const std::vector<Json>& others) {
    for (const Json& other : others) {
      *json = other;
      f();
    }
    *json = before;
  };
  if (before.is_boolean()) {
    each({!before.get<bool>()});
  } else if (before.is_number_integer()) {
    each({0, 1, -1, 2, 17, int64_t{1} << 32, int64_t{1} << 62, INT64_MAX, INT64_MIN});
  } else if (before.is_number()) {
    each({0.0, -1.0, 1e300, 5e-324, NAN, INFINITY, -INFINITY});
  } else if (before.is_string() && before.get_ref<const std::string&>()[0] != '$' &&
             before != "new_axis" && before != "ellipsis") {
    each({"", "a", "->", "a(", "...", "ab,bc->ac", "\xff\xfe", std::string(20000, '('),
          std::string(20000, '-'), std::string(1000, 'a')});
  } else if (before.is_object() && before.contains("call")) {
    for (Json& inner : (*json)["arguments"]) with_others(&inner, f);
  } else if (before.is_object() && !before.contains("dtype")) {
    for (auto& [name, member] : json->items()) {
      if (name != "dtype_of") with_others(&member, f);
    }
  } else if (before.is_array()) {
    for (Json& inner : *json) with_others(&inner, f);
  }
}

TEST_P(WrongInputs, OtherArguments) {
  expect_unchanged([] {
    Case one = GetParam();
    // Several arrays have one count.
    const auto is_array = [](const Json& argument) { return argument.is_array(); };
    const bool alone = std::count_if(one.arguments.begin(), one.arguments.end(), is_array) == 1;
    for (Json& argument : one.arguments) {
      const auto call = [&] {
        MT_SCOPE {
          SCOPED_TRACE(
              one.arguments.dump(-1, ' ', true, Json::error_handler_t::replace).substr(0, 300));
          expect_value_or_reason(one, inputs());
        }
      };
      with_others(&argument, call);
      if (!argument.is_array() || !alone) continue;  // of sizes or axes, maybe; or of tensors
      const Json before = argument;
      std::vector<Json> lists = {Json::array()};
      if (std::all_of(before.begin(), before.end(), [](const Json& i) { return i.is_number(); })) {
        for (const int64_t number : {0, 1, -1}) {
          lists.push_back(Json(std::vector<int64_t>(1, number)));
          lists.push_back(Json(std::vector<int64_t>(3, number)));
          lists.push_back(Json(std::vector<int64_t>(17, number)));
        }
      }
      for (const Json& list : lists) {
        argument = list;
        call();
      }
      argument = before;
    }
  });
}

INSTANTIATE_TEST_SUITE_P(All, WrongInputs, testing::ValuesIn(cases()), name_of);
INSTANTIATE_TEST_SUITE_P(Alone, WrongInputs, testing::ValuesIn(vectors_alone()), name_of);

}  // namespace
}  // namespace every_operator
