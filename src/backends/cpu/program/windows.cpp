// SPDX-License-Identifier: Apache-2.0
// Programs that only reduce windows, which are read in place.
#include <algorithm>

#include "backends/cpu/program/program.h"
#include "backends/cpu/strided/pool_pairs.h"
#include "tensor/walker.h"

namespace mt::cpu {

void ProgramRun::pool(int64_t first, int64_t rows) {
  const Step &load = prepared_.steps[0], &reduce = prepared_.steps[1];
  const int16_t index = load.instruction->index;
  const NarrowOperand& windows = prepared_.narrow[index];
  const auto* x = reinterpret_cast<const float*>(first_element(index)) + windows.columns[0];
  pool_pairs(reinterpret_cast<float*>(address(reduce.out, first)), x, windows.rows,
             windows.columns[2] - windows.columns[0], first, rows);
}

// Nothing is copied: a column of all windows is contiguous in memory, one element per window.
void ProgramRun::slide(int64_t first, int64_t rows) {
  const Step &load = prepared_.steps[0], &reduce = prepared_.steps[1];
  const int16_t index = load.instruction->index;
  const NarrowOperand& windows = prepared_.narrow[index];
  const auto size = static_cast<int64_t>(size_of(load.instruction->type));
  const char* x = first_element(index) + windows.columns[0] * size;
  const int last = windows.rows.shape.rank() - 1;
  const int64_t length = windows.rows.shape[last];
  int64_t at[max_rank], position = locate(windows.rows, first, at);
  for (int64_t row = first, some; row < first + rows; row += some) {
    some = std::min(length - at[last], first + rows - row);
    const Input in{x + position * size, (windows.columns[1] - windows.columns[0]) * size};
    reduce.operate(address(reduce.out, row), &in, some, columns_);
    position -= at[last];
    at[last] = 0;
    position += step_on(windows.rows, 0, last - 1, at);
  }
}

}  // namespace mt::cpu
