// SPDX-License-Identifier: Apache-2.0
// Learning rates as functions of the step, which counts from 0.
#pragma once

#include <cstdint>

namespace mt {

double schedule_step(double rate, int64_t step, int64_t every, double factor);
double schedule_cosine(double rate, int64_t step, int64_t steps, double lowest);
double schedule_warmup(double rate, int64_t step, int64_t warmup);
double schedule_one_cycle(double rate, int64_t step, int64_t steps);

}  // namespace mt
