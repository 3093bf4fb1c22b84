// SPDX-License-Identifier: Apache-2.0
// Fresh values for weights.
#include "ops/initialize.h"

#include <cmath>

#include "base/error.h"
#include "ops/naive.h"
#include "ops/ops.h"
#include "ops/random.h"

namespace mt {
namespace {

struct Fans {
  double in, out;
};
Fans fans_of(const char* name, const Shape& shape) {
  if (shape.rank() < 2) {
    fail(Code::shape, "%s: %s: needs two dimensions", name, to_string(shape).c_str());
  }
  double kernel = 1;
  for (int i = 2; i < shape.rank(); ++i) kernel *= static_cast<double>(shape[i]);
  return {static_cast<double>(shape[1]) * kernel, static_cast<double>(shape[0]) * kernel};
}

void check_finite(const char* name, const char* what, double value) {
  if (!std::isfinite(value)) fail(Code::invalid, "%s: a %s of %g is not finite", name, what, value);
}

double kaiming(const char* name, const Shape& shape, double slope) {
  check_finite(name, "slope", slope);
  double terms = (1 + slope * slope) * fans_of(name, shape).in;
  return terms > 0 ? std::sqrt(2 / terms) : 0;
}
double xavier(const char* name, const Shape& shape, double gain) {
  check_finite(name, "gain", gain);
  Fans fans = fans_of(name, shape);
  return fans.in + fans.out > 0 ? gain * std::sqrt(2 / (fans.in + fans.out)) : 0;
}
// Uniform with the given deviation.
Tensor spread(const Shape& shape, double deviation, Dtype dtype, Device& device) {
  double bound = std::fabs(deviation) * std::sqrt(3.0);
  return uniform(shape, -bound, bound, dtype, device);
}

// Makes the rows of a matrix, no more than it has columns, orthonormal: Gram and Schmidt's
// method, each vector twice, which leaves them orthogonal to rounding.
void orthonormal_value(const NaiveCall& call) {
  const NaiveArray &x = call.inputs[0], &y = call.output;
  const int64_t count = x.layout.shape[0], length = x.layout.shape[1];
  double* basis = static_cast<double*>(y.data) + y.layout.offset;  // y is contiguous
  for (int64_t i = 0; i < count; ++i) {
    double* v = basis + i * length;
    for (int64_t j = 0; j < length; ++j) v[j] = x.number(i * length + j);
    auto norm = [&] {
      double sum = 0;
      for (int64_t j = 0; j < length; ++j) sum += v[j] * v[j];
      return std::sqrt(sum);
    };
    double before = norm();
    for (int pass = 0; pass < 2; ++pass) {
      for (int64_t other = 0; other < i; ++other) {
        const double* u = basis + other * length;
        double dot = 0;
        for (int64_t j = 0; j < length; ++j) dot += u[j] * v[j];
        for (int64_t j = 0; j < length; ++j) v[j] -= dot * u[j];
      }
    }
    double after = norm();
    bool depends = !(after > before * 1e-12);  // never with random vectors; then it stays zero
    for (int64_t j = 0; j < length; ++j) v[j] = depends ? 0 : v[j] / after;
  }
}
const Op orthonormal_op{.name = "orthonormal", .kind = OpKind::call, .value = orthonormal_value};

}  // namespace

Tensor xavier_uniform(const Shape& shape, double gain, Dtype dtype, Device& device) {
  return spread(shape, xavier("xavier_uniform", shape, gain), dtype, device);
}
Tensor xavier_normal(const Shape& shape, double gain, Dtype dtype, Device& device) {
  return normal(shape, 0, std::fabs(xavier("xavier_normal", shape, gain)), dtype, device);
}
Tensor kaiming_uniform(const Shape& shape, double slope, Dtype dtype, Device& device) {
  return spread(shape, kaiming("kaiming_uniform", shape, slope), dtype, device);
}
Tensor kaiming_normal(const Shape& shape, double slope, Dtype dtype, Device& device) {
  return normal(shape, 0, kaiming("kaiming_normal", shape, slope), dtype, device);
}

Tensor orthogonal(const Shape& shape, double gain, Dtype dtype, Device& device) {
  fans_of("orthogonal", shape);
  check_finite("orthogonal", "gain", gain);
  int64_t rows = shape[0], rest = 1;
  for (int i = 1; i < shape.rank(); ++i) rest *= shape[i];
  const bool is_tall = rows > rest;
  Draws draws;
  Tensor x = normal({rows, rest}, 0, 1, Dtype::float64, device);
  if (is_tall) x = transpose(x);
  Tensor q = record(orthonormal_op, Dtype::float64, x.shape(), {x});
  if (is_tall) q = transpose(q);
  return cast(reshape(q * gain, shape), dtype);
}

}  // namespace mt
