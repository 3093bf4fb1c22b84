// SPDX-License-Identifier: Apache-2.0
// The table's kernels for i32, i64 and u64.
#include "backends/cpu/elementwise/tables.h"
#include "backends/cpu/elementwise/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/elementwise/integer_operators.cpp"
#include "hwy/foreach_target.h"

#include "backends/cpu/elementwise/operators.h"

HWY_BEFORE_NAMESPACE();
namespace mt::cpu {
namespace HWY_NAMESPACE {
const Operator* int32_table() { return kernel_table<int32_t>(); }
const Operator* int64_table() { return kernel_table<int64_t>(); }
const Operator* uint64_table() { return kernel_table<uint64_t>(); }
}  // namespace HWY_NAMESPACE
}  // namespace mt::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mt::cpu {
HWY_EXPORT(int32_table);
HWY_EXPORT(int64_table);
HWY_EXPORT(uint64_table);
const Operator* int32_operators() { return HWY_DYNAMIC_DISPATCH(int32_table)(); }
const Operator* int64_operators() { return HWY_DYNAMIC_DISPATCH(int64_table)(); }
const Operator* uint64_operators() { return HWY_DYNAMIC_DISPATCH(uint64_table)(); }
}  // namespace mt::cpu
#endif
