// SPDX-License-Identifier: Apache-2.0
// Operators whose result's shape depends on values: count, evaluate, then compact.
#include "ops/nonzero.h"

#include <cstring>

#include "base/error.h"
#include "graph/evaluate.h"
#include "graph/modes.h"
#include "graph/trace_log.h"
#include "ops/gather.h"
#include "ops/naive.h"
#include "ops/ops.h"
#include "ops/view.h"

namespace mt {
namespace {

// The output is [count] for row-major positions or [count, rank] for one along each axis.
void nonzero_value(const NaiveCall& call) {
  const NaiveArray &x = call.inputs[0], &y = call.output;
  const Shape& shape = x.layout.shape;
  int rank = y.layout.shape.rank() == 2 ? shape.rank() : 0;
  int64_t found = 0;
  for (int64_t i = 0; i < x.size() && found < y.layout.shape[0]; ++i) {
    if (!x.integer(i)) continue;
    if (rank == 0) y.set_integer(found, i);
    int64_t rest = i;
    for (int d = rank - 1; d >= 0; --d) {
      y.set_integer(found * rank + d, rest % shape[d]);
      rest /= shape[d];
    }
    ++found;
  }
}
const Op nonzero_op{.name = "nonzero", .kind = OpKind::call, .value = nonzero_value};

// A few values that the host can read are counted here, which no plan is worth.
constexpr int64_t counted_at_once = 1 << 16;

int64_t count_of(const Tensor& mask) {
  int64_t size = mask.size();
  if (size == 0) return 0;
  bool readable = mask->ready() && mask.device().host_memory;
  if (!readable || size > counted_at_once) return read_integer(sum(mask));
  return count_nonzero_bytes(static_cast<const uint8_t*>(mask->data()), size);
}

Tensor flat(const Tensor& x) { return reshape(x, {x.size()}); }

// Where each run of equal elements of a sorted vector begins.
Tensor run_starts(const Tensor& sorted) {
  int64_t count = sorted.size();
  if (count == 0) return full({0}, 0, Dtype::boolean, sorted.device());
  Tensor first = full({1}, 1, Dtype::boolean, sorted.device());
  if (count == 1) return first;
  return concat(
      {first, not_equal(slice(sorted, 0, 1, count - 1, 1), slice(sorted, 0, 0, count - 1, 1))}, 0);
}

}  // namespace

void refuse_trace(const char* name) {
  if (!TraceLog::current()) return;
  fail(Code::trace, "%s: the shape of its result depends on values, which a trace does not have",
       name);
}

int64_t read_integer(const Tensor& x) {
  Tensor wide = cast(x, Dtype::int64);
  evaluate(wide);
  int64_t value;
  read_element(wide, &value);
  return value;
}

int64_t count_nonzero_bytes(const uint8_t* bytes, int64_t size) {
  constexpr uint64_t low = 0x7f7f7f7f7f7f7f7f;
  int64_t count = 0, i = 0;
  for (; i + 8 <= size; i += 8) {
    uint64_t eight;
    std::memcpy(&eight, bytes + i, sizeof eight);
    uint64_t ones = ((((eight & low) + low) | eight) & ~low) >> 7;   // 1 for a byte that is not 0
    count += static_cast<int64_t>(ones * 0x0101010101010101 >> 56);  // their sum
  }
  for (; i < size; ++i) count += bytes[i] != 0;
  return count;
}

Tensor flat_nonzero(const Tensor& x, const char* name) {
  refuse_trace(name);
  Tensor mask = contiguous(flat(cast(x, Dtype::boolean)));
  return record(nonzero_op, Dtype::int64, {count_of(mask)}, {mask});
}

Tensor nonzero(const Tensor& x) {
  refuse_trace("nonzero");
  Tensor mask = contiguous(cast(x, Dtype::boolean));
  int64_t count = count_of(mask);
  if (count == 0 || x.rank() == 0) {
    return full({count, x.rank()}, 0, Dtype::int64, x.device());
  }
  return record(nonzero_op, Dtype::int64, {count, x.rank()}, {mask});
}

Tensor masked_select(const Tensor& x, const Tensor& mask) {
  if (mask.dtype() != Dtype::boolean) {
    fail(Code::dtype, "masked_select: the mask must be bool, got %s", name_of(mask.dtype()));
  }
  Tensor positions = flat_nonzero(expand(mask, x.shape()), "masked_select");
  return gather(flat(x), 0, {positions});
}

Tensor unique_values(const Tensor& x) {
  refuse_trace("unique_values");
  GradientMode none(false);
  Tensor sorted = sort(flat(x), 0, false);
  return masked_select(sorted, run_starts(sorted));
}

Unique unique_all(const Tensor& x) {
  refuse_trace("unique_all");
  GradientMode none(false);
  Tensor elements = flat(x), order = argsort(elements, 0, false);
  Tensor sorted = gather(elements, 0, {order}), starts = run_starts(sorted);
  Tensor positions = flat_nonzero(starts, "unique_all");
  Tensor ends = full_integer({positions.size() ? 1 : 0}, x.size(), Dtype::int64, x.device());
  if (positions.size() > 1) {
    ends = concat({slice(positions, 0, 1, positions.size() - 1, 1), ends}, 0);
  }
  // The sort is stable, so the first of each run occurs first. Each element's run, put back where
  // the element came from: the order is a permutation, so the sums are of one term.
  Tensor runs = sub(cumulative_sum(starts, 0), integer_number(1, x.device()));
  Tensor inverse = scatter(runs, 0, {order}, {x.size()});
  return {gather(sorted, 0, {positions}), gather(order, 0, {positions}),
          reshape(inverse, x.shape()), ends - positions};
}

}  // namespace mt
