// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/program/pieces.h"

#include <numeric>

#include "backends/cpu/program/make_steps.h"

namespace mt::cpu {
namespace {

// Whether an operand is not contiguous, but kernels can read along its last dimension.
bool may_be_pieced(const Memory& memory) {
  const Layout& layout = memory.layout;
  if (memory.row || memory.contiguous || memory.is_padded() || memory.buffer < 0) return false;
  if (layout.shape.rank() < 2) return false;
  const int64_t step = layout.strides.back();
  return step == 0 || step == 1;
}

int64_t largest_divisor(int64_t number, int64_t most) {
  while (most > 1 && number % most != 0) --most;
  return most;
}

}  // namespace

std::vector<PiecedOperand> pieced_operands(const Segment& segment, int64_t length,
                                           int64_t* together) {
  const int64_t count = segment.rows * segment.columns;
  std::vector<PiecedOperand> operands(segment.memory.size());
  int64_t even = count / length;  // pieces over which all operands are evenly spaced
  bool any = false;
  for (size_t m = 0; m < operands.size(); ++m) {
    const Memory& memory = segment.memory[m];
    const Layout& layout = memory.layout;
    if (!may_be_pieced(memory) || is_regular(memory, segment.columns) ||
        layout.shape.back() % length != 0 || element_count(layout.shape) != count) {
      continue;
    }
    Layout pieces = layout;
    const int last = pieces.shape.rank() - 1;
    pieces.shape[last] /= length;
    pieces.strides[last] *= length;
    pieces.offset = 0;
    pieces = collapse(pieces);
    const bool scalar = pieces.shape.empty();
    const int64_t own = std::gcd(even, scalar ? even : pieces.shape.back());
    // Small tiles cost more than copying.
    if (2 * largest_divisor(own, *together) < *together) continue;
    even = own;
    any = true;
    const int64_t step = scalar ? 0 : pieces.strides.back();
    operands[m] = {.serves = true,
                   .repeated = layout.strides.back() == 0,
                   .pitch = step * static_cast<int64_t>(size_of(memory.dtype)),
                   .pieces = std::move(pieces)};
  }
  if (!any) return {};
  *together = largest_divisor(even, *together);
  return operands;
}

int64_t piece_length(const Segment& segment, int64_t longest) {
  for (const Memory& memory : segment.memory) {
    if (!may_be_pieced(memory)) continue;
    int64_t length = memory.layout.shape.back();
    while (length > longest && length % 2 == 0) length /= 2;
    if (length >= shortest_piece && length <= longest) return length;
  }
  return 0;
}

}  // namespace mt::cpu
