// SPDX-License-Identifier: Apache-2.0
// Every exported function, called with what cannot be: it does it or says why not, and the process
// lives on. The list is the committed one of symbols, so a new function arrives tested.
#include <cmath>
#include <cstring>
#include <functional>
#include <optional>
#include <set>
#include <type_traits>

#include "api/support.h"

namespace {

// What is given to a function, by the types of its parameters.
struct Values {
  mt_tensor* tensor = nullptr;
  mt_tensor* const* tensors = nullptr;  // arrays have as many elements as `count`, or are NULL
  const int64_t* integers = nullptr;
  size_t count = 0;
  const char* text = nullptr;
  int64_t integer = 0;
  int32_t code = 0;  // a type, say
  double number = 0;
  bool all = false;  // the objects, results and functions, too; else NULL
};

// Objects of each kind, and the end of what a function gave.
void make(mt_tape** tape) { mt_tape_end(*tape = mt_tape_begin()); }
void make(mt_generator** generator) { *generator = mt_generator_new(1); }
void make(mt_profile** profile) { *profile = mt_profile_start(); }
void make(mt_parameters** parameters) {
  *parameters = mt_parameters_new(MT_F32, nullptr);
  mt_parameters_add(*parameters, "w", floats({1, 2, 3, 4, 5, 6}, {2, 3}));
}
void make(mt_optimizer** optimizer) {
  mt_parameters* parameters;
  make(&parameters);
  *optimizer = mt_optimizer_sgd(parameters, 0.1, nullptr);
  mt_parameters_release(parameters);
}
void make(mt_loader** loader) {
  mt_tensor* rows = floats({1, 2, 3, 4, 5, 6}, {2, 3});
  *loader = mt_loader_new(&rows, 1, 1, nullptr);
}
mt_status first(void*, mt_tensor* const* inputs, size_t count, mt_tensor** results, size_t) {
  if (count) results[0] = inputs[0];
  return MT_OK;
}
void make(mt_trace** trace) { *trace = mt_trace_new(first, nullptr); }
void make(mt_kernel** kernel) {
  const auto cell = [](void*, const mt_cell*, const void* const*, void* const*, const double*) {
    return mt_status(MT_OK);
  };
  const mt_kernel_definition definition = {sizeof definition, "cell", nullptr, cell, true,
                                           nullptr,           nullptr};
  *kernel = mt_kernel_new(&definition);
}

void end(mt_tape* tape) { mt_tape_release(tape); }
void end(mt_generator* generator) { mt_generator_release(generator); }
void end(mt_profile* profile) { mt_profile_release(profile); }
void end(mt_parameters* parameters) { mt_parameters_release(parameters); }
void end(mt_optimizer* optimizer) { mt_optimizer_release(optimizer); }
void end(mt_loader* loader) { mt_loader_release(loader); }
void end(mt_trace* trace) { mt_trace_release(trace); }
void end(mt_kernel* kernel) { mt_kernel_release(kernel); }
void end(mt_scope* scope) { mt_scope_end(scope); }
void end(char* text) { mt_free_string(text); }
void end(DLManagedTensor* managed) { mt_from_dlpack_unversioned(managed); }
void end(DLManagedTensorVersioned* managed) { mt_from_dlpack(managed); }
template <class Result>
void end(const Result&) {}

const std::set<std::string> not_statuses = {"dtype_of", "promote_types",   "tape_dtype",
                                            "threads",  "no_grad_begin",   "no_grad_end",
                                            "version",  "matmul_precision"};
// NULL without an error: there is none.
const std::set<std::string> may_be_null = {"gradient", "scope_end", "device_name", "device_stream"};
// They end what the test still needs.
const std::set<std::string> ownership = {"release", "retain", "take"};

class EveryFunction : public Api {
 protected:
  // Each function with what make() returns, in a scope of its own.
  template <class Make>
  void call_every(Make&& make) {
#define FUNCTION(function) \
  MT_SCOPE { call(&#function[std::strlen("mt_")], function, make()); }
#include "functions.inc"
#undef FUNCTION
  }

 private:
  template <class Result, class... P>
  void call(const std::string& name, Result (*function)(P...), const Values& values) {
    if (values.tensor && ownership.contains(name)) return;
    SCOPED_TRACE(name);
    last_ = name.ends_with("_release");
    if constexpr (std::is_void_v<Result>) {
      function(get<P>(values)...);
    } else {
      const Result result = function(get<P>(values)...);
      check(name, result);
      mt_clear();
      end(result);
      if (values.tensor && name.starts_with("map")) mt_unmap(values.tensor);
    }
    mt_clear();
    for (auto& each : ends_) each();
    ends_.clear();
    restore();
  }

  template <class P>
  P get(const Values& values) {
    if constexpr (std::is_same_v<P, mt_tensor*>) {
      return values.tensor;
    } else if constexpr (std::is_same_v<P, mt_tensor* const*>) {
      return values.tensors;
    } else if constexpr (std::is_same_v<P, const int64_t*>) {
      return values.integers;
    } else if constexpr (std::is_same_v<P, size_t>) {
      return values.count;
    } else if constexpr (std::is_same_v<P, const char*>) {
      return values.text;
    } else if constexpr (std::is_same_v<P, int64_t>) {
      return values.integer;
    } else if constexpr (std::is_same_v<P, int32_t>) {
      return values.code;
    } else if constexpr (std::is_same_v<P, double>) {
      return values.number;
    } else if constexpr (std::is_same_v<P, bool>) {
      return values.all;
    } else {
      if (values.all) return get_object<P>(values);
      return P();
    }
  }

  template <class P>
  P get_object(const Values& values) {
    if constexpr (std::is_same_v<P, mt_tensor**>) {
      std::fill_n(results_, most, nullptr);
      return results_;
    } else if constexpr (std::is_same_v<P, const double*>) {
      std::fill_n(numbers_, most, values.number);
      return numbers_;
    } else if constexpr (std::is_same_v<P, const mt_index_item*>) {
      for (size_t i = 0; i < most; ++i) {
        items_[i] = {static_cast<int32_t>(i % 6),
                     0,
                     values.integer,
                     values.integer,
                     values.integer,
                     values.tensor};
      }
      return items_;
    } else if constexpr (std::is_same_v<P, const mt_kernel_result*>) {
      std::fill_n(forms_, most, mt_kernel_result{values.integers, values.count, values.code});
      return forms_;
    } else if constexpr (std::is_same_v<P, const mt_launch*>) {
      std::fill_n(launch_.grid, 3, values.integer);
      return &launch_;
    } else if constexpr (std::is_same_v<P, mt_layer*>) {
      mt_parameters* parameters = get_object<mt_parameters*>(values);
      return mt_layer_linear(parameters, "", 3, 2, true);
    } else if constexpr (std::is_same_v<P, mt_function>) {
      return first;
    } else if constexpr (requires(P * object) { make(object); }) {
      P object;
      make(&object);
      if (!last_) ends_.push_back([object] { end(object); });
      return object;
    } else {
      return P();
    }
  }

  template <class Result>
  void check(const std::string& name, const Result& result) {
    const std::string message = mt_error_message();
    if constexpr (std::is_same_v<Result, mt_status>) {
      EXPECT_TRUE(result == mt_error() || not_statuses.contains(name)) << message;
    } else if constexpr (std::is_pointer_v<Result>) {
      EXPECT_TRUE(!result == (mt_error() != MT_OK) || may_be_null.contains(name)) << message;
    }
    EXPECT_TRUE(mt_error() == MT_OK || !message.empty() || name == "set_error");
    if (mt_error() == MT_ENULL) {
      EXPECT_TRUE(name.starts_with(message.substr(0, message.find(": ")))) << message;
    }
  }

  // Whatever a function has set.
  void restore() {
    mt_set_threads(threads_);
    mt_set_default_device("cpu");
    mt_set_memory_limit("cpu", 1 << 28);
    mt_set_eager(false);
    mt_set_nan_check(false);
    mt_set_grad_mode(true);
    mt_set_matmul_precision(MT_PRECISION_STRICT);
    mt_generator_use(nullptr);
    EXPECT_EQ(mt_error(), MT_OK) << mt_error_message();
  }
  void TearDown() override {
    mt_set_memory_limit("cpu", 0);
    Api::TearDown();
  }

 protected:
  static constexpr size_t most = 20;  // elements of an array

 private:
  const int threads_ = mt_threads();
  bool last_ = false;  // the function releases what it is given
  std::vector<std::function<void()>> ends_;
  mt_tensor* results_[most];
  double numbers_[most];
  mt_index_item items_[most];
  mt_kernel_result forms_[most];
  mt_launch launch_ = MT_LAUNCH_INIT;
};

mt_tensor* matrix() { return floats({1, 2, 3, 4, 5, 6}, {2, 3}); }

TEST_F(EveryFunction, GivenNothing) {
  call_every([] { return Values(); });
}

TEST_F(EveryFunction, GivenCountsWithoutArrays) {
  call_every([&] { return Values{.count = 3}; });
  call_every([&] { return Values{.tensor = matrix(), .count = 3}; });
}

TEST_F(EveryFunction, GivenArraysOfNothing) {
  mt_tensor* const tensors[3] = {};
  const int64_t axes[] = {0, 1, 2};
  call_every([&] {
    return Values{.tensor = matrix(),
                  .tensors = tensors,
                  .integers = axes,
                  .count = 3,
                  .text = "",
                  .all = true};
  });
}

TEST_F(EveryFunction, GivenTheEndsOfNumbers) {
  for (int64_t integer : {INT64_MAX, INT64_MIN, int64_t{-1}, int64_t{1} << 32, int64_t{2}}) {
    for (double number : {double(INFINITY), -1.0, double(NAN)}) {
      for (size_t count : {1, 3, 17}) {
        const std::vector<int64_t> integers(count, integer);
        std::vector<mt_tensor*> tensors(count);
        call_every([&] {
          mt_tensor* tensor = matrix();
          std::fill(tensors.begin(), tensors.end(), tensor);
          return Values{tensor,
                        tensors.data(),
                        integers.data(),
                        count,
                        "no/such/file",
                        integer,
                        integer < 0 ? -1 : MT_F32,
                        number,
                        true};
        });
      }
    }
  }
}

}  // namespace
