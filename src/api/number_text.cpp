// SPDX-License-Identifier: Apache-2.0
#include "api/number_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "ops/half.h"

namespace mt::api {
namespace {

constexpr int most_fraction_digits = 8;

double rounded_to(double value, Dtype dtype) {
  float narrow = static_cast<float>(value);
  if (dtype == Dtype::float16) return float16_to_float(float_to_float16(narrow));
  if (dtype == Dtype::bfloat16) return bfloat16_to_float(float_to_bfloat16(narrow));
  return value;
}

// The shortest decimal number that rounds to `value`, in scientific notation.
std::string shortest(double value, Dtype dtype) {
  char text[64];
  if (is_half(dtype)) {
    for (int digits = 0;; ++digits) {
      std::snprintf(text, sizeof text, "%.*e", digits, value);
      if (digits == most_fraction_digits || rounded_to(std::atof(text), dtype) == value)
        return text;
    }
  }
  auto end = dtype == Dtype::float32
                 ? std::to_chars(text, text + sizeof text, static_cast<float>(value),
                                 std::chars_format::scientific)
                 : std::to_chars(text, text + sizeof text, value, std::chars_format::scientific);
  return std::string(text, end.ptr);
}

// Sign, digits and the power of ten of the first: 0.0125 is + 125 -2.
struct Decimal {
  bool negative;
  std::string digits;
  int exponent;

  Decimal(double value, Dtype dtype) {
    std::string text = shortest(value, dtype);
    negative = text[0] == '-';
    size_t e = text.find('e');
    exponent = std::atoi(text.c_str() + e + 1);
    for (char c : text.substr(0, e)) {
      if (c >= '0' && c <= '9') digits += c;
    }
  }
};

void trim_zeros(std::string* text) {
  while (text->back() == '0') text->pop_back();  // "3.00" becomes "3."
}

// Without exponent: "-12.5", "3."; at most eight digits follow the point unless `exact`.
std::string positional(double value, Dtype dtype, bool exact = false) {
  Decimal decimal(value, dtype);
  int fraction = static_cast<int>(decimal.digits.size()) - 1 - decimal.exponent;
  if (fraction <= 0) fraction = 0;
  if (fraction == 0 || (fraction > most_fraction_digits && !exact)) {
    char text[400];
    std::snprintf(text, sizeof text, "%#.*f", std::min(fraction, most_fraction_digits), value);
    std::string result = text;
    trim_zeros(&result);
    return result;
  }
  std::string whole, rest;
  for (int power = std::max(decimal.exponent, 0); power >= 0; --power) {
    size_t i = decimal.exponent - power;
    whole += power <= decimal.exponent && i < decimal.digits.size() ? decimal.digits[i] : '0';
  }
  for (int power = -1; power >= -fraction; --power) {
    size_t i = decimal.exponent - power;
    rest += power <= decimal.exponent ? decimal.digits[i] : '0';
  }
  while (!rest.empty() && rest.back() == '0') rest.pop_back();
  return (decimal.negative ? "-" : "") + whole + "." + rest;
}

struct Scientific {
  std::string whole, fraction, exponent;  // "-1", "25", "e+06"
};

// With the shortest fraction, at most eight digits, or with exactly `digits` of them.
Scientific scientific(double value, Dtype dtype, int digits = -1) {
  std::string text = shortest(value, dtype);
  bool is_long =
      text.find('e') > static_cast<size_t>(most_fraction_digits + 2 + std::signbit(value));
  if (digits >= 0 || is_long) {
    char rounded[64];
    std::snprintf(rounded, sizeof rounded, "%.*e", digits >= 0 ? digits : most_fraction_digits,
                  value);
    text = rounded;
  }
  size_t e = text.find('e'), point = std::min(text.find('.'), e);
  std::string fraction = text.substr(point, e - point);
  if (!fraction.empty()) fraction.erase(0, 1);
  while (digits < 0 && !fraction.empty() && fraction.back() == '0') fraction.pop_back();
  return {text.substr(0, point), fraction, text.substr(e)};
}

std::string special(double value) { return std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf"; }

bool needs_exponents(const std::vector<double>& values) {
  double largest = 0, smallest = INFINITY;
  for (double value : values) {
    if (!std::isfinite(value) || value == 0) continue;
    largest = std::max(largest, std::fabs(value));
    smallest = std::min(smallest, std::fabs(value));
  }
  return largest > 0 && (largest >= 1e8 || smallest < 1e-4 || largest / smallest > 1000);
}

}  // namespace

std::string number_text(double value, Dtype dtype) {
  if (!std::isfinite(value)) return special(value);
  double size = std::fabs(value);
  if (size != 0 && (size >= 1e16 || size < 1e-4)) {
    return shortest(value, dtype);
  }
  std::string text = positional(value, dtype, true);
  return text.back() == '.' ? text + "0" : text;
}

std::vector<std::string> column_text(const std::vector<double>& values, Dtype dtype) {
  bool exponents = needs_exponents(values);
  std::vector<std::string> left(values.size()), right(values.size());  // around the point
  size_t exponent_size = 0, left_size = 0, right_size = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) continue;
    if (exponents) {
      Scientific parts = scientific(values[i], dtype);
      left[i] = parts.whole;
      right[i] = parts.fraction;
      exponent_size = std::max(exponent_size, parts.exponent.size());
    } else {
      std::string text = positional(values[i], dtype);
      size_t point = text.find('.');
      left[i] = text.substr(0, point);
      right[i] = text.substr(point + 1);
    }
    left_size = std::max(left_size, left[i].size());
    right_size = std::max(right_size, right[i].size());
  }
  size_t width = 0;
  std::vector<std::string> result(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) {
      result[i] = special(values[i]);
    } else if (exponents) {
      Scientific parts = scientific(values[i], dtype, static_cast<int>(right_size));
      // Columns line up: all fractions show as many digits as the longest.
      parts.exponent.insert(2, exponent_size - parts.exponent.size(), '0');
      result[i] = std::string(left_size - parts.whole.size(), ' ') + parts.whole + "." +
                  parts.fraction + parts.exponent;
    } else {
      result[i] = std::string(left_size - left[i].size(), ' ') + left[i] + "." + right[i] +
                  std::string(right_size - right[i].size(), ' ');
    }
    width = std::max(width, result[i].size());
  }
  for (std::string& text : result) text.insert(0, width - text.size(), ' ');
  return result;
}

}  // namespace mt::api
