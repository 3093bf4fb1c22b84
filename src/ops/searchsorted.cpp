// SPDX-License-Identifier: Apache-2.0
// Where values would stand in a sorted vector.
#include "base/error.h"
#include "ops/naive.h"
#include "ops/ops.h"
#include "ops/view.h"

namespace mt {
namespace {

// attributes: right
void searchsorted_value(const NaiveCall& call) {
  const NaiveArray &sorted = call.inputs[0], &values = call.inputs[1];
  bool right = call.attributes[0];
  for (int64_t i = 0; i < values.size(); ++i) {
    int64_t low = 0, high = sorted.size();
    while (low < high) {
      int64_t middle = low + (high - low) / 2;
      bool goes_on = right ? !comes_before(values, i, sorted, middle)
                           : comes_before(sorted, middle, values, i);
      (goes_on ? low : high) = goes_on ? middle + 1 : middle;
    }
    call.output.set_integer(i, low);
  }
}
const Op searchsorted_op{.name = "searchsorted", .kind = OpKind::call, .value = searchsorted_value};

}  // namespace

Tensor searchsorted(const Tensor& sorted, const Tensor& values, bool right) {
  if (sorted.rank() != 1) {
    fail(Code::shape, "searchsorted: the sorted values need one dimension, got %s",
         to_string(sorted.shape()).c_str());
  }
  Dtype dtype = promote(sorted.dtype(), values.dtype(), "searchsorted");
  return record(searchsorted_op, Dtype::int64, values.shape(),
                {contiguous(cast(sorted, dtype)), contiguous(cast(values, dtype))}, {right});
}

}  // namespace mt
