// SPDX-License-Identifier: Apache-2.0
#include "ops/check.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "autodiff/backward.h"
#include "backends/cpu/parallel/parallel.h"
#include "backends/devices.h"
#include "fusion/evaluator.h"
#include "fusion/explain.h"
#include "graph/evaluate.h"
#include "graph/modes.h"
#include "graph/record.h"
#include "ops/ops.h"

namespace mt::testing {
namespace {

Device& device_named(const char* name) {
  install_fusing_evaluator();
  return find_device(name);
}

std::vector<char> bytes_of(const Tensor& x) {
  Tensor whole = copy(x);
  evaluate(whole);
  const char* data = static_cast<const char*>(whole->data());
  return {data, data + whole->bytes()};
}

}  // namespace

Device& cpu() { return device_named("cpu"); }
Device& reference() { return device_named("cpu:reference"); }

Tensor make(const Shape& shape, const Numbers& numbers, Dtype dtype, Device& device) {
  EXPECT_EQ(static_cast<size_t>(element_count(shape)), numbers.size());
  Ref<Storage> storage = Storage::allocate(device, std::max<size_t>(numbers.size() * 8, 8));
  std::copy(numbers.begin(), numbers.end(), static_cast<double*>(storage->data()));
  Tensor x = make_leaf(std::move(storage), Dtype::float64, contiguous_layout(shape));
  if (dtype == Dtype::float64) return x;
  Tensor y = cast(x, dtype);
  evaluate(y);
  return y;
}

Tensor noise(const Shape& shape, unsigned seed, Dtype dtype, Device& device) {
  std::mt19937 generator(seed);
  Numbers numbers(static_cast<size_t>(element_count(shape)));
  for (double& number : numbers) number = generator() / 2147483648.0 - 1;
  return make(shape, numbers, dtype, device);
}

Tensor integers(const Numbers& numbers, Device& device) {
  return make({static_cast<int64_t>(numbers.size())}, numbers, Dtype::int64, device);
}

Numbers counting(int64_t count, double from) {
  Numbers numbers;
  for (int64_t i = 0; i < count; ++i) numbers.push_back(from + static_cast<double>(i));
  return numbers;
}

Numbers scattered(int64_t count, int64_t range, uint64_t seed) {
  Numbers numbers;
  for (int64_t i = 0; i < count; ++i) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    numbers.push_back(static_cast<double>(static_cast<int64_t>(seed >> 33) % range));
  }
  return numbers;
}

Numbers special(int64_t count) {
  const double denormal[] = {5e-324, 1e-310, 3e-42, 6e-8};  // of float64, float32 and float16
  Numbers values = scattered(count, 200);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] -= 100;
    if (i % 37 == 5) values[i] = NAN;
    if (i % 53 == 7) values[i] = i % 2 ? INFINITY : -INFINITY;
    if (i % 11 == 3) values[i] = i % 2 ? -0.0 : 0.0;
    if (i % 41 == 9) values[i] = (i % 2 ? -1 : 1) * denormal[i % 4];
  }
  return values;
}

Numbers read(const Tensor& x) {
  GradientMode none(false);
  Tensor wide = copy(cast(x, Dtype::float64));
  evaluate(wide);
  const double* data = static_cast<const double*>(wide->data());
  return {data, data + wide.size()};
}

void expect_near(const Tensor& x, const Numbers& expected, double tolerance) {
  Numbers found = read(x);
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    if (std::isnan(expected[i]))
      EXPECT_TRUE(std::isnan(found[i])) << "element " << i;
    else if (std::isinf(expected[i]))
      EXPECT_EQ(found[i], expected[i]) << "element " << i;
    else
      EXPECT_NEAR(found[i], expected[i], tolerance) << "element " << i;
  }
}

Tensor project(const Tensor& y) {
  return sum(y * cast(noise(y.shape(), 99, Dtype::float64, y.device()), y.dtype()));
}

void check_gradients(const Function& f, const std::vector<Tensor>& inputs, int order,
                     double tolerance) {
  std::vector<Tensor> leaves;
  for (const Tensor& input : inputs) leaves.push_back(leaf(input));
  std::vector<Tensor> found = gradients({project(f(leaves))}, {}, leaves);
  constexpr double h = 1e-5;
  for (size_t i = 0; i < inputs.size(); ++i) {
    ASSERT_TRUE(static_cast<bool>(found[i])) << "input " << i << " has no gradient";
    ASSERT_EQ(to_string(found[i].shape()), to_string(inputs[i].shape()));
    Numbers exact = read(found[i]), numbers = read(inputs[i]);
    for (size_t e = 0; e < numbers.size(); ++e) {
      double sides[2];
      for (int side = 0; side < 2; ++side) {
        Numbers moved = numbers;
        moved[e] += side ? h : -h;
        std::vector<Tensor> arguments = inputs;
        arguments[i] = make(inputs[i].shape(), moved);
        if (order == -2) {
          for (Tensor& argument : arguments) argument = leaf(argument);
        }
        sides[side] = read(project(f(arguments)))[0];
      }
      double difference = (sides[1] - sides[0]) / (2 * h);
      EXPECT_NEAR(exact[e], difference, tolerance * std::max(1.0, std::fabs(difference)))
          << "order " << order << ", input " << i << ", element " << e;
    }
  }
  if (order != 2 || ::testing::Test::HasFailure()) return;
  for (size_t i = 0; i < inputs.size(); ++i) {
    // An input that enters linearly and alone has no second gradient.
    Function slope = [&](const std::vector<Tensor>& x) {
      Tensor total = project(gradients({project(f(x))}, {}, x)[i]);
      for (const Tensor& input : x) total = total + sum(input) * 0.0;
      return total;
    };
    check_gradients(slope, inputs, -2, tolerance * 10);
  }
}

void check_gradient(const Tensor& x, const std::function<Tensor(const Tensor&)>& f) {
  check_gradients([&](const std::vector<Tensor>& inputs) { return f(inputs[0]); }, {x});
}

void check_devices(const Function& f, const std::vector<Shape>& shapes, Dtype dtype,
                   double tolerance) {
  auto run = [&](Device& device) {
    std::vector<Tensor> inputs;
    for (size_t i = 0; i < shapes.size(); ++i) {
      inputs.push_back(leaf(noise(shapes[i], static_cast<unsigned>(i + 1), dtype, device)));
    }
    Tensor y = f(inputs);
    std::vector<Tensor> results{y};
    for (const Tensor& gradient : gradients({project(y)}, {}, inputs)) {
      if (gradient) results.push_back(gradient);
    }
    return results;
  };
  std::vector<Tensor> fast = run(cpu()), naive = run(reference());
  evaluate(fast.data(), fast.size());
  set_eager_mode(true);
  std::vector<Tensor> eager = run(cpu());
  set_eager_mode(false);
  ASSERT_EQ(fast.size(), naive.size());
  for (size_t r = 0; r < fast.size(); ++r) {
    EXPECT_EQ(bytes_of(fast[r]), bytes_of(eager[r])) << "result " << r << " differs when eager";
    Numbers a = read(fast[r]), b = read(naive[r]);
    ASSERT_EQ(a.size(), b.size());
    double largest = 1e-30;
    for (double number : b) largest = std::max(largest, std::fabs(number));
    for (size_t i = 0; i < a.size(); ++i) {
      ASSERT_NEAR(a[i], b[i], tolerance * largest) << "result " << r << ", element " << i;
    }
  }
}

Numbers everywhere(const std::function<Tensor(const Make&)>& f) {
  auto run = [&](Device& device, bool eager, int threads) {
    set_eager_mode(eager);
    cpu::set_thread_count(threads);
    Tensor y = f([&](const Shape& shape, const Numbers& numbers, Dtype dtype) {
      return make(shape, numbers, dtype, device);
    });
    evaluate(y);
    set_eager_mode(false);
    cpu::set_thread_count(0);
    return read(y);
  };
  auto same = [](const Numbers& a, const Numbers& b) {
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); ++i) {
      if (a[i] != b[i] && (a[i] == a[i] || b[i] == b[i])) return false;
    }
    return true;
  };
  Numbers expected = run(reference(), false, 1);
  EXPECT_TRUE(same(run(cpu(), false, 1), expected)) << "cpu, deferred, one thread";
  EXPECT_TRUE(same(run(cpu(), false, 3), expected)) << "cpu, deferred, three threads";
  EXPECT_TRUE(same(run(cpu(), true, 0), expected)) << "cpu, eager";
  return expected;
}

int group_count(const Tensor& x) {
  std::string text = explain(x);
  int count = 0;
  for (size_t at = 0; (at = text.find("group ", at)) != std::string::npos; ++at) {
    count += at == 0 || text[at - 1] == '\n';
  }
  return count;
}

Code code_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.code();
  }
  return Code::ok;
}

std::string message_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace mt::testing
