// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/contract/matrix_unit/suits_pairs.h"

#include "backends/cpu/contract/matrix_unit/matrix_unit.h"
#include "backends/cpu/contract/matrix_unit/tiles.h"
#include "backends/cpu/contract/operand.h"
#include "ops/order.h"

namespace mt::cpu {
namespace {

constexpr int64_t least_columns = 5, least_terms = 8;
constexpr double least_flops = 4e5, least_flops_of_windows = 5e4;

}  // namespace

bool suits_pairs(const Contraction& c) {
  if (c.a != Dtype::bfloat16 || c.b != Dtype::bfloat16) return false;
  if (c.out != Dtype::bfloat16 && c.out != Dtype::float32) return false;
  const int64_t m = size_of_group(c.m), n = size_of_group(c.n), k = size_of_group(c.k);
  const double flops =
      2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  const MatrixOperand b = operand_b(c);
  if (n < least_columns || k < least_terms ||
      flops < (b.slides() ? least_flops_of_windows : least_flops)) {
    return false;
  }
  return contraction_order(m, n, k, c.out).lanes == 1 && matrix_unit() == MatrixUnit::pairs &&
         !operand_a(c).slides() && (!b.slides() || lies_in_runs(b.rows));
}

}  // namespace mt::cpu
