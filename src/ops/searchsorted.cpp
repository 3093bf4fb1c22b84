// SPDX-License-Identifier: Apache-2.0
// Where values would stand in a sorted vector.
#include "ops/indexing.h"
#include "ops/naive.h"
#include "ops/ops.h"
#include "tensor/error.h"

namespace mt {
namespace {

// Whether a comes before b; a NaN comes after everything, as in sort.
bool before(const NaiveArray& x, int64_t i, const NaiveArray& y, int64_t j) {
  if (is_floating(x.dtype)) {
    double a = x.number(i), b = y.number(j);
    return a < b || (a == a && b != b);
  }
  int64_t a = x.integer(i), b = y.integer(j);
  return x.dtype == Dtype::uint64 ? static_cast<uint64_t>(a) < static_cast<uint64_t>(b) : a < b;
}

// attributes: right
void searchsorted_value(const NaiveCall& call) {
  const NaiveArray &sorted = call.inputs[0], &values = call.inputs[1];
  bool right = call.attributes[0];
  for (int64_t i = 0; i < values.size(); ++i) {
    int64_t low = 0, high = sorted.size();
    while (low < high) {
      int64_t middle = low + (high - low) / 2;
      bool goes_on = right ? !before(values, i, sorted, middle) : before(sorted, middle, values, i);
      (goes_on ? low : high) = goes_on ? middle + 1 : middle;
    }
    call.output.set_integer(i, low);
  }
}
const Op searchsorted_op{"searchsorted", OpKind::call, 0, searchsorted_value};

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
