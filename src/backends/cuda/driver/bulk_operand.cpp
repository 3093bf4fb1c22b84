// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/driver/bulk_operand.h"

#include "tensor/first_byte.h"

namespace mt::cuda {
namespace {

// False where it takes more than two dimensions.
bool place_entries(const Layout& layout, EntryPlace* place, int64_t (&strides)[2]) {
  int count = 0;
  int64_t divisor = 1;
  for (int i = 0; i < 2; ++i) place->divisor[i] = place->size[i] = 1;
  for (int d = layout.shape.rank() - 3; d >= 0; --d) {
    const int64_t size = layout.shape[d], stride = layout.strides[d];
    if (size > 1 && stride < 0) return false;
    if (size > 1 && stride > 0) {
      const int last = count - 1;
      const bool goes_on = count > 0 &&
                           divisor == place->divisor[last] * int64_t{place->size[last]} &&
                           stride == strides[last] * place->size[last];
      if (!goes_on) {
        if (count == 2) return false;
        place->divisor[count] = static_cast<int>(divisor);
        strides[count++] = stride;
      }
      place->size[count - 1] *= static_cast<int>(size);
    }
    divisor *= size;
  }
  return true;
}

bool describe(const Operand& operand, EntryPlace* place, BoxedArray* array) {
  const Layout& layout = operand.layout;
  const int last = layout.shape.rank() - 1;
  const int64_t line = layout.strides[last - 1];
  int64_t strides[2] = {line, line};  // of one entry any will do
  if (line <= 0 || !place_entries(layout, place, strides)) return false;
  *array = {place->size[0],
            layout.shape[last - 1],
            layout.shape[last],
            strides[0],
            line,
            0,
            place->size[1],
            strides[1]};
  return true;
}

}  // namespace

bool is_bulk_operand(const Operand& operand) {
  EntryPlace place;
  BoxedArray array;
  return describe(operand, &place, &array);
}

BulkOperand bulk_operand(const Operand& operand, int rows, void* buffer) {
  BulkOperand bulk{};
  BoxedArray array{};
  describe(operand, &bulk.place, &array);
  array.box_lines = rows;
  char* data = static_cast<char*>(buffer) + first_byte(operand);
  bulk.map = tensor_map(array, data);
  return bulk;
}

}  // namespace mt::cuda
