// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/call.h"

#include <cstring>

#include "backends/cpu/attention/attention.h"
#include "backends/cpu/index/kernels.h"
#include "backends/cpu/linalg/matrix_call.h"
#include "backends/cpu/recurrent/lstm.h"
#include "backends/cpu/user_kernel.h"
#include "ops/kernel.h"
#include "ops/linalg/matrices.h"

namespace mt::cpu {
namespace {

struct Entry {
  const char* name;
  CallKernel kernel;
};

// One line for each operator with a fast kernel.
constexpr Entry entries[] = {
    {"add_along_axis", {nullptr, add_along_axis_kernel, add_along_axis_scratch}},
    {"argmax", {argmax_kernel}},
    {"argmin", {argmin_kernel}},
    {"argsort", {argsort_kernel}},
    {"attention", {nullptr, attention_kernel, attention_scratch}},
    {"attention_gradient", {nullptr, attention_gradient_kernel, attention_gradient_scratch}},
    {"concat", {concat_kernel}},
    {"cumulative_sum", {cumulative_sum_kernel}},
    {"pad", {pad_kernel}},
    {"fold", {fold_kernel}},
    {"gather", {gather_kernel}},
    {"last_writer", {last_writer_kernel}},
    {"lstm", {nullptr, lstm_kernel, lstm_scratch}},
    {"lstm_gradient", {nullptr, lstm_gradient_kernel, lstm_gradient_scratch}},
    {"nonzero", {nonzero_kernel}},
    {"overlay", {overlay_kernel}},
    {"put_rows", {put_rows_kernel}},
    {"recurrence", {recurrence_kernel}},
    {"scatter", {nullptr, scatter_kernel, scatter_scratch}},
    {"searchsorted", {searchsorted_kernel}},
    {"share_among_extremes", {share_among_extremes_kernel}},
    {"sort", {sort_kernel}},
    {"take_along_axis", {take_along_axis_kernel}},
};

}  // namespace

CallKernel find_call_kernel(const Op& op) {
  if (is_kernel(op)) return {run_kernel};  // whatever its name is
  for (const Entry& entry : entries) {
    if (std::strcmp(entry.name, op.name) == 0) return entry.kernel;
  }
  if (op.value == matrix_value) return {nullptr, matrix_kernel, matrix_scratch};
  return {};
}

}  // namespace mt::cpu
