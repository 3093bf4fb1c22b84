// SPDX-License-Identifier: Apache-2.0
// The table's kernels for float32.
#include "backends/cpu/elementwise/tables.h"
#include "backends/cpu/elementwise/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/elementwise/float32_operators.cpp"
#include "hwy/foreach_target.h"

#include "backends/cpu/elementwise/operators.h"

HWY_BEFORE_NAMESPACE();
namespace mt::cpu {
namespace HWY_NAMESPACE {
const Operator* float32_table() { return kernel_table<float>(); }
}  // namespace HWY_NAMESPACE
}  // namespace mt::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mt::cpu {
HWY_EXPORT(float32_table);
const Operator* float32_operators() { return HWY_DYNAMIC_DISPATCH(float32_table)(); }
}  // namespace mt::cpu
#endif
