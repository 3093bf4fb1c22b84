// SPDX-License-Identifier: Apache-2.0
#include "ops/random.h"

#include <cmath>
#include <utility>

#include "base/error.h"
#include "graph/modes.h"
#include "ops/half.h"
#include "ops/ops.h"

namespace mt {
namespace {

const Op random_op{.name = "random", .kind = OpKind::random};

// What a thread's own generator begins with.
std::atomic<uint64_t> first_seed{0};

struct Current {
  Ref<Generator> own{new Generator(first_seed)}, used;
};
Current& current_of_thread() {
  thread_local Current current;
  return current;
}

thread_local uint64_t draws_of_thread = 0;

void check_floating(const char* name, Dtype dtype) {
  if (!is_floating(dtype)) fail(Code::dtype, "%s: needs floats, got %s", name, name_of(dtype));
}

// The number of `dtype` nearest to x.
double nearest(double x, Dtype dtype) {
  const auto number = static_cast<float>(x);
  switch (dtype) {
    case Dtype::float64: return x;
    case Dtype::float16: return float16_to_float(float_to_float16(number));
    case Dtype::bfloat16: return bfloat16_to_float(float_to_bfloat16(number));
    default: return number;
  }
}

// The largest number of `dtype` below `high`.
double below(double high, Dtype dtype) {
  if (dtype == Dtype::float64) return std::nextafter(high, -HUGE_VAL);
  float number = static_cast<float>(high);
  if (dtype == Dtype::float32) return number < high ? number : std::nextafter(number, -HUGE_VALF);
  auto value = [&](uint16_t bits) {
    return dtype == Dtype::float16 ? float16_to_float(bits) : bfloat16_to_float(bits);
  };
  uint16_t bits = dtype == Dtype::float16 ? float_to_float16(number) : float_to_bfloat16(number);
  if (value(bits) < high) return value(bits);
  if ((bits & 0x7fff) == 0) return value(0x8001);
  return value(static_cast<uint16_t>(bits & 0x8000 ? bits + 1 : bits - 1));
}

}  // namespace

Draws::~Draws() {
  const uint64_t count = draws_of_thread - before_;
  if (!count || std::uncaught_exceptions() == failing_) return;
  generator_.take_back(first_, count);
  draws_of_thread = before_;
}

Tensor Draws::operator()(const Shape& shape, Dtype dtype, Device& device) {
  check_shape(shape, size_of(dtype), "random");
  Immediates drawn = generator_.draw();
  ++draws_of_thread;
  Tensor x = record_source(random_op, dtype, shape, device, {}, drawn);
  if (TraceLog* log = TraceLog::current()) log->note(&generator_, drawn, x.node());
  return x;
}

Generator& Generator::current() {
  Current& current = current_of_thread();
  return current.used ? *current.used.get() : *current.own.get();
}

Ref<Generator> Generator::use(Ref<Generator> generator) {
  return std::exchange(current_of_thread().used, std::move(generator));
}

uint64_t Generator::draws() { return draws_of_thread; }

void Generator::seed(uint64_t seed) {
  current().set_state({{seed, 0}});
  first_seed = seed;
}

Tensor uniform(const Shape& shape, double low, double high, Dtype dtype, Device& device) {
  check_floating("uniform", dtype);
  if (!(low <= high) || !std::isfinite(nearest(low, dtype)) ||
      !std::isfinite(nearest(high, dtype))) {
    fail(Code::invalid, "uniform: [%g, %g) is no interval of %s", low, high, name_of(dtype));
  }
  const Dtype wide = accumulator_of(dtype);
  const double span = high - low;
  Draws draw;
  Tensor u = draw(shape, wide, device);
  if (low == 0 && high == 1 && !is_half(dtype)) return u;
  if (low == high) return full(shape, low, dtype, device);
  // By halves, where the type does not reach as far as the interval is long.
  Tensor x = std::isfinite(nearest(span, wide)) ? u * span + low
                                                : (u * (high / 2 - low / 2) + low / 2) * 2.0;
  // Rounding may reach `high`, which does not belong to the interval.
  return minimum(cast(x, dtype), number(below(high, dtype), device));
}

// Box and Muller: the radius and the angle of a point of the plane's normal distribution.
Tensor normal(const Shape& shape, double mean, double deviation, Dtype dtype, Device& device) {
  check_floating("normal", dtype);
  if (!(deviation >= 0) || !std::isfinite(deviation) || !std::isfinite(mean)) {
    fail(Code::invalid, "normal: mean %g and deviation %g must be finite, the latter not below 0",
         mean, deviation);
  }
  constexpr double pi = 3.14159265358979323846;
  Dtype wide = accumulator_of(dtype);
  Draws draw;
  Tensor radius = sqrt(log(1.0 - draw(shape, wide, device)) * -2.0);
  Tensor z = radius * cos(draw(shape, wide, device) * (2 * pi));
  return cast(z * deviation + mean, dtype);
}

// low + floor(u (high - low) / 2^64) with 64 random bits u, by the schoolbook product of 32-bit
// halves: no value is more than 1 / 2^64 more likely than it should be.
Tensor integers(const Shape& shape, int64_t low, int64_t high, Dtype dtype, Device& device) {
  if (!is_integer(dtype)) fail(Code::dtype, "integers: needs integers, got %s", name_of(dtype));
  int bits = static_cast<int>(size_of(dtype)) * 8;
  int64_t least = is_unsigned(dtype) ? 0 : bits == 64 ? INT64_MIN : -(int64_t{1} << (bits - 1));
  int64_t greatest = bits == 64           ? INT64_MAX
                     : is_unsigned(dtype) ? (int64_t{1} << bits) - 1
                                          : (int64_t{1} << (bits - 1)) - 1;
  if (low >= high || low < least || high - 1 > greatest) {
    fail(Code::invalid, "integers: [%lld, %lld) is no range of %s", static_cast<long long>(low),
         static_cast<long long>(high), name_of(dtype));
  }
  uint64_t range = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  auto constant = [&](uint64_t value) {
    return full_integer({}, static_cast<int64_t>(value), Dtype::uint64, device);
  };
  Tensor word = constant(32), mask = constant(0xffffffff);
  Draws draw;
  Tensor upper = cast(draw(shape, Dtype::uint32, device), Dtype::uint64);
  Tensor lower = cast(draw(shape, Dtype::uint32, device), Dtype::uint64);
  Tensor range_lower = constant(range & 0xffffffff);
  auto top = [&](const Tensor& x) { return bitwise_right_shift(x, word); };
  Tensor middle = upper * range_lower;
  Tensor carry = top(lower * range_lower);
  Tensor result;
  if (range >> 32 == 0) {
    result = top(middle + carry);  // below 2^64: (2^32 - 1)^2 + 2^32 - 1
  } else {
    Tensor range_upper = constant(range >> 32);
    Tensor other = lower * range_upper;
    carry = carry + bitwise_and(middle, mask) + bitwise_and(other, mask);
    result = upper * range_upper + top(middle) + top(other) + top(carry);
  }
  return cast(cast(result, Dtype::int64) + full_integer({}, low, Dtype::int64, device), dtype);
}

Tensor bernoulli(const Shape& shape, double probability, Dtype dtype, Device& device) {
  if (!(probability >= 0 && probability <= 1)) {
    fail(Code::invalid, "bernoulli: probability %g is not within 0 to 1", probability);
  }
  Draws draw;
  return cast(less(draw(shape, Dtype::float32, device), number(probability, device)), dtype);
}

// The order of random 64-bit keys; that two are equal is unlikely for any n that fits in memory.
Tensor permutation(int64_t n, Device& device) {
  if (n < 0) fail(Code::invalid, "permutation: of %lld numbers", static_cast<long long>(n));
  Draws draw;
  Tensor upper = cast(draw({n}, Dtype::uint32, device), Dtype::int64);
  Tensor lower = cast(draw({n}, Dtype::uint32, device), Dtype::int64);
  return argsort(bitwise_or(bitwise_left_shift(upper, integer_number(32, device)), lower), 0,
                 false);
}

// The largest of logits - log(e), where e are exponential numbers, is each class with its
// probability (Gumbel's noise). The smallest e decide, so in float32 they come of 32 bits and not
// of 24. None is 0 or infinite, either of which would outweigh every logit.
Tensor categorical(const Tensor& logits, int64_t axis) {
  check_floating("categorical", logits.dtype());
  int chosen = normalize_axis(axis, logits.rank(), "categorical");
  if (logits.shape()[chosen] == 0) {
    fail(Code::invalid, "categorical: axis %d of %s has no classes", chosen,
         to_string(logits.shape()).c_str());
  }
  GradientMode none(false);
  const Dtype wide = accumulator_of(logits.dtype());
  const bool single = wide == Dtype::float32;
  Draws draw;
  Tensor bits = draw(logits.shape(), single ? Dtype::uint32 : wide, logits.device());
  Tensor u = (cast(bits, wide) + (single ? 0.5 : 0x1p-54)) * (single ? 0x1p-32 : 1.0);
  u = minimum(u, number(single ? 1 - 0x1p-24 : 1 - 0x1p-53, logits.device()));
  return argmax(cast(logits, wide) - log(-log1p(-u)), {chosen});
}

Tensor dropout(const Tensor& x, double probability, bool training) {
  if (!(probability >= 0 && probability <= 1)) {
    fail(Code::invalid, "dropout: probability %g is not within 0 to 1", probability);
  }
  if (!is_floating(x.dtype())) {
    fail(Code::dtype, "dropout: needs floats, got %s", name_of(x.dtype()));
  }
  if (!training || probability == 0) return x;
  Draws draw;
  Tensor keep =
      greater_equal(draw(x.shape(), Dtype::float32, x.device()), number(probability, x.device()));
  double scale = probability < 1 ? 1 / (1 - probability) : 0;
  return where(keep, x * scale, number(0, x.device()));
}

}  // namespace mt
