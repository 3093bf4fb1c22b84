// SPDX-License-Identifier: Apache-2.0
#include "ops/naive_math.h"

#include <cmath>
#include <limits>
#include <type_traits>

#include "ops/elementwise.h"

namespace mt {
namespace {

// What the rows call, for doubles by the standard library and for integers by definition. (Found
// by argument-dependent lookup would be ambiguous with std::, so rows are expanded inside this
// namespace, where these come first.)
constexpr double infinity = std::numeric_limits<double>::infinity();

inline double abs(double x) { return std::fabs(x); }
inline double sign(double x) { return x != x ? x : (x > 0) - (x < 0); }
inline double round_even(double x) { return std::nearbyint(x); }
inline double max(double a, double b) { return a != a ? a : b != b ? b : a > b ? a : b; }
inline double min(double a, double b) { return a != a ? a : b != b ? b : a < b ? a : b; }
inline double at_most(double x, double high) { return high < x ? high : x; }
inline double at_least(double x, double low) { return low > x ? low : x; }
inline double select(bool condition, double a, double b) { return condition ? a : b; }
inline double sigmoid(double x) {
  return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x));
}
inline double normal_exp2(double x) { return std::exp2(x); }
inline double normal_cdf(double x) { return 0.5 * std::erfc(x * -0.7071067811865476); }
inline double floor_divide(double a, double b) { return std::floor(a / b); }
inline double remainder(double a, double b) {
  double r = std::fmod(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r == 0 ? std::copysign(0.0, b) : r;
}
inline double logaddexp(double a, double b) {
  if (a == b) return a + 0.6931471805599453;
  double high = a > b ? a : b, low = a > b ? b : a;
  return high + std::log1p(std::exp(low - high));
}
using std::acos, std::acosh, std::asin, std::asinh, std::atan, std::atan2, std::atanh, std::ceil,
    std::copysign, std::cos, std::cosh, std::erf, std::exp, std::exp2, std::expm1, std::floor,
    std::fma, std::hypot, std::log, std::log10, std::log1p, std::log2, std::nextafter, std::pow,
    std::sin, std::sinh, std::sqrt, std::tan, std::tanh, std::trunc;
#define MT_MATH inline
#include "ops/math/activations.h"
#undef MT_MATH

// An integer of 64 bits that wraps, never traps, and is signed or not.
template <class T>
struct Wrapped {
  T value;
  Wrapped(int v) : value(static_cast<T>(v)) {}
  explicit Wrapped(uint64_t v) : value(static_cast<T>(v)) {}
  explicit Wrapped(int64_t v) : value(static_cast<T>(v)) {}
  uint64_t u() const { return static_cast<uint64_t>(value); }
  friend Wrapped operator+(Wrapped a, Wrapped b) { return Wrapped(a.u() + b.u()); }
  friend Wrapped operator-(Wrapped a, Wrapped b) { return Wrapped(a.u() - b.u()); }
  friend Wrapped operator*(Wrapped a, Wrapped b) { return Wrapped(a.u() * b.u()); }
  friend Wrapped operator-(Wrapped a) { return Wrapped(uint64_t{0} - a.u()); }
  friend Wrapped operator&(Wrapped a, Wrapped b) { return Wrapped(a.u() & b.u()); }
  friend Wrapped operator|(Wrapped a, Wrapped b) { return Wrapped(a.u() | b.u()); }
  friend Wrapped operator^(Wrapped a, Wrapped b) { return Wrapped(a.u() ^ b.u()); }
  friend Wrapped operator~(Wrapped a) { return Wrapped(~a.u()); }
  friend bool operator==(Wrapped a, Wrapped b) { return a.value == b.value; }
  friend bool operator!=(Wrapped a, Wrapped b) { return a.value != b.value; }
  friend bool operator<(Wrapped a, Wrapped b) { return a.value < b.value; }
  friend bool operator>(Wrapped a, Wrapped b) { return a.value > b.value; }
  friend bool operator<=(Wrapped a, Wrapped b) { return a.value <= b.value; }
  friend bool operator>=(Wrapped a, Wrapped b) { return a.value >= b.value; }
};

#define INTEGER      \
  template <class T> \
  inline Wrapped<T>
INTEGER abs(Wrapped<T> x) { return x.value < 0 ? -x : x; }
INTEGER sign(Wrapped<T> x) { return Wrapped<T>((x.value > 0) - (x.value < 0)); }
INTEGER floor(Wrapped<T> x) { return x; }
INTEGER ceil(Wrapped<T> x) { return x; }
INTEGER trunc(Wrapped<T> x) { return x; }
INTEGER round_even(Wrapped<T> x) { return x; }
INTEGER max(Wrapped<T> a, Wrapped<T> b) { return a > b ? a : b; }
INTEGER min(Wrapped<T> a, Wrapped<T> b) { return a < b ? a : b; }
INTEGER floor_divide(Wrapped<T> a, Wrapped<T> b) {
  if (b.value == 0) return 0;
  if (b.u() == ~uint64_t{0} && std::is_signed_v<T>) return -a;
  T quotient = a.value / b.value;
  bool inexact = quotient * b.value != a.value;
  if (inexact && (a.value < 0) != (b.value < 0)) --quotient;
  return Wrapped<T>(quotient);
}
INTEGER remainder(Wrapped<T> a, Wrapped<T> b) {
  return b.value == 0 ? Wrapped<T>(0) : a - floor_divide(a, b) * b;
}
INTEGER pow(Wrapped<T> a, Wrapped<T> b) {
  if (b.value < 0) return a.value == 1 ? 1 : a.u() == ~uint64_t{0} ? (b.u() & 1 ? -1 : 1) : 0;
  Wrapped<T> result = 1;
  for (uint64_t e = b.u(); e; e >>= 1, a = a * a) {
    if (e & 1) result = result * a;
  }
  return result;
}
INTEGER shift_left(Wrapped<T> a, Wrapped<T> b) {
  return b.u() >= 64 ? Wrapped<T>(0) : Wrapped<T>(a.u() << b.u());
}
INTEGER shift_right(Wrapped<T> a, Wrapped<T> b) {
  return Wrapped<T>(static_cast<T>(b.u() >= 64 ? (a.value < 0 ? T(-1) : T(0)) : a.value >> b.u()));
}
#undef INTEGER

// Expanding a row for a type it has no meaning for must compile to nothing: the value is only
// instantiated where the domain allows.
enum class Kind { real, integer };
constexpr bool has(Domain domain, Kind kind) {
  if (domain == Domain::any || domain == Domain::number) return true;
  if (kind == Kind::real) return domain == Domain::real;
  return domain == Domain::integer || domain == Domain::bits || domain == Domain::boolean;
}

template <class V, Kind kind>
auto evaluate(uint8_t code, V first, V second) {
  struct Result {
    V number{0};
    bool boolean = false;
  } result;
  auto keep = [&](auto value) {
    if constexpr (std::is_same_v<decltype(value), bool>) {
      result.boolean = value;
      result.number = V(value ? 1 : 0);
    } else {
      result.number = value;
    }
  };
  switch (static_cast<Elementwise>(code)) {
#define UNARY(name, domain, result, expression, gradient) \
  case Elementwise::name:                                 \
    if constexpr (has(Domain::domain, kind)) {            \
      [&](auto x) { keep(expression); }(first);           \
    }                                                     \
    break;
#define BINARY(name, domain, result, expression, gradient_a, gradient_b) \
  case Elementwise::name:                                                \
    if constexpr (has(Domain::domain, kind)) {                           \
      [&](auto a, auto b) { keep(expression); }(first, second);          \
    }                                                                    \
    break;
#include "ops/elementwise.def"
#undef UNARY
#undef BINARY
    case Elementwise::count: break;
  }
  return result;
}

}  // namespace

double naive_elementwise(uint8_t code, double a, double b, Dtype dtype) {
  // Which number comes next is the one value that depends on the type.
  if (static_cast<Elementwise>(code) == Elementwise::nextafter && dtype == Dtype::float32) {
    return std::nextafter(static_cast<float>(a), static_cast<float>(b));
  }
  return evaluate<double, Kind::real>(code, a, b).number;
}

bool naive_comparison(uint8_t code, double a, double b) {
  return evaluate<double, Kind::real>(code, a, b).boolean;
}

int64_t naive_elementwise(uint8_t code, int64_t a, int64_t b, Dtype dtype) {
  if (dtype == Dtype::uint64) {
    using U = Wrapped<uint64_t>;
    return static_cast<int64_t>(evaluate<U, Kind::integer>(code, U(a), U(b)).number.u());
  }
  using S = Wrapped<int64_t>;
  int64_t result = evaluate<S, Kind::integer>(code, S(a), S(b)).number.value;
  return dtype == Dtype::boolean ? result & 1 : result;
}

}  // namespace mt
