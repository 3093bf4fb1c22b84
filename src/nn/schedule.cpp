// SPDX-License-Identifier: Apache-2.0
// They never fail: steps before the first count as the first, and a length below one as one.
#include "nn/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace mt {
namespace {

// From a at 0 to b at 1, along half a cosine.
double half_cosine(double a, double b, double position) {
  double share = (1 + std::cos(std::numbers::pi * position)) / 2;
  return a * share + b * (1 - share);
}

}  // namespace

double schedule_step(double rate, int64_t step, int64_t every, double factor) {
  int64_t falls = std::max<int64_t>(step, 0) / std::max<int64_t>(every, 1);
  return rate * std::pow(factor, static_cast<double>(falls));
}

double schedule_cosine(double rate, int64_t step, int64_t steps, double lowest) {
  if (steps <= 0 || step >= steps) return lowest;
  if (step <= 0) return rate;
  return half_cosine(rate, lowest, static_cast<double>(step) / static_cast<double>(steps));
}

double schedule_warmup(double rate, int64_t step, int64_t warmup) {
  double done = static_cast<double>(std::max<int64_t>(step, 0)) + 1;
  return warmup <= 0 ? rate : rate * std::min(1.0, done / static_cast<double>(warmup));
}

double schedule_one_cycle(double rate, int64_t step, int64_t steps) {
  constexpr double start_divisor = 25, end_divisor = 250000, rise = 0.3;
  double first = rate / start_divisor, final = rate / end_divisor;
  double last = static_cast<double>(steps) - 1;  // the last step, where the cycle ends
  double position = static_cast<double>(std::max<int64_t>(step, 0));
  double peak = rise * static_cast<double>(steps) - 1;
  if (position >= last) return final;
  if (position < peak) return half_cosine(first, rate, position / peak);
  return half_cosine(rate, final, (position - peak) / (last - peak));
}

}  // namespace mt
