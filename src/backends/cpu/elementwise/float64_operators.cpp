// SPDX-License-Identifier: Apache-2.0
// The table's kernels for float64.
#include "backends/cpu/elementwise/tables.h"
#include "backends/cpu/elementwise/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/elementwise/float64_operators.cpp"
#include "hwy/foreach_target.h"

#include "backends/cpu/elementwise/operators.h"

HWY_BEFORE_NAMESPACE();
namespace mt::cpu {
namespace HWY_NAMESPACE {
const Operator* float64_table() { return kernel_table<double>(); }
}  // namespace HWY_NAMESPACE
}  // namespace mt::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mt::cpu {
HWY_EXPORT(float64_table);
const Operator* float64_operators() { return HWY_DYNAMIC_DISPATCH(float64_table)(); }
}  // namespace mt::cpu
#endif
