// SPDX-License-Identifier: Apache-2.0
// What the tests of indexing share: tensors from numbers and back, and three ways to run an
// operator that must agree.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

#include "autodiff/backward.h"
#include "backends/cpu/parallel/parallel.h"
#include "backends/devices.h"
#include "base/error.h"
#include "fusion/evaluator.h"
#include "graph/evaluate.h"
#include "graph/variable.h"
#include "ops/naive.h"
#include "ops/ops.h"

namespace mt::index_test {

using Numbers = std::vector<double>;

inline Device& device(bool reference = false) {
  static bool installed = (install_fusing_evaluator(), true);
  (void)installed;
  return find_device(reference ? "cpu:reference" : "cpu");
}

inline NaiveArray array_of(const Tensor& x) { return {x->storage->data(), x.dtype(), x->layout()}; }

inline Tensor tensor(const Numbers& values, const Shape& shape, Dtype dtype = Dtype::float32,
                     bool reference = false) {
  Device& where = device(reference);
  Ref<Storage> storage = Storage::allocate(where, values.size() * 8 + 8);
  Tensor result = make_leaf(storage, dtype, contiguous_layout(shape));
  NaiveArray array = array_of(result);
  for (size_t i = 0; i < values.size(); ++i) {
    array.set_number(static_cast<int64_t>(i), values[i]);
  }
  return result;
}

inline Tensor integers(const Numbers& values, bool reference = false) {
  return tensor(values, {static_cast<int64_t>(values.size())}, Dtype::int64, reference);
}

inline Numbers counting(int64_t count, double from = 0) {
  Numbers result;
  for (int64_t i = 0; i < count; ++i) result.push_back(from + static_cast<double>(i));
  return result;
}

inline Numbers numbers(const Tensor& x) {
  evaluate(x);
  NaiveArray array = array_of(x);
  Numbers result;
  for (int64_t i = 0; i < x.size(); ++i) result.push_back(array.number(i));
  return result;
}

// Numbers that look random but are the same everywhere.
inline Numbers scattered(int64_t count, int64_t range, uint64_t seed = 1) {
  Numbers result;
  for (int64_t i = 0; i < count; ++i) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    result.push_back(static_cast<double>(static_cast<int64_t>(seed >> 33) % range));
  }
  return result;
}

inline Code code_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.code();
  }
  return Code::ok;
}

// f, given a maker of tensors, run on the reference device, and on the CPU deferred, eagerly, and
// with one thread and three. All values must be the same; returns them.
using Make = std::function<Tensor(const Numbers&, const Shape&, Dtype)>;
inline Numbers everywhere(const std::function<Tensor(const Make&)>& f) {
  auto run = [&](bool reference, bool eager, int threads) {
    set_eager_mode(eager);
    cpu::set_thread_count(threads);
    Numbers result = numbers(f([&](const Numbers& values, const Shape& shape, Dtype dtype) {
      return tensor(values, shape, dtype, reference);
    }));
    set_eager_mode(false);
    cpu::set_thread_count(0);
    return result;
  };
  Numbers expected = run(true, false, 1);
  auto same = [](const Numbers& a, const Numbers& b) {
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); ++i) {
      if (a[i] != b[i] && (a[i] == a[i] || b[i] == b[i])) return false;
    }
    return true;
  };
  EXPECT_TRUE(same(run(false, false, 1), expected)) << "cpu, deferred, one thread";
  EXPECT_TRUE(same(run(false, false, 3), expected)) << "cpu, deferred, three threads";
  EXPECT_TRUE(same(run(false, true, 0), expected)) << "cpu, eager";
  return expected;
}

// Holds the gradient of sum(f(x) * weights) against central differences, in float64.
inline void check_gradient(const Numbers& at, const Shape& shape,
                           const std::function<Tensor(const Tensor&)>& f) {
  auto loss = [&](const Tensor& x) {
    Tensor y = f(x);
    Numbers weights = scattered(y.size(), 7, 5);
    return sum(square(y) * tensor(weights, y.shape(), Dtype::float64));
  };
  Tensor x = tensor(at, shape, Dtype::float64);
  x->requires_gradient = true;
  x->variable = Ref<Variable>(new Variable);
  Tensor gradient = gradients({loss(x)}, {nullptr}, {x})[0];
  ASSERT_TRUE(gradient);
  Numbers found = numbers(gradient);
  for (size_t i = 0; i < at.size(); ++i) {
    Numbers above = at, below = at;
    above[i] += 1e-4;
    below[i] -= 1e-4;
    double difference = (numbers(loss(tensor(above, shape, Dtype::float64)))[0] -
                         numbers(loss(tensor(below, shape, Dtype::float64)))[0]) /
                        2e-4;
    EXPECT_NEAR(found[i], difference, 1e-6 * (1 + std::abs(difference))) << "element " << i;
  }
}

}  // namespace mt::index_test
