// SPDX-License-Identifier: Apache-2.0
// The same elements in other places, some of them several times; and their differences. Composed of
// slices, joins, broadcasts and gathers.
#include <algorithm>
#include <limits>

#include "base/error.h"
#include "ops/nonzero.h"
#include "ops/ops.h"

namespace mt {

Tensor roll(const Tensor& x, const std::vector<int64_t>& shifts, const Dims& axes) {
  if (static_cast<int>(shifts.size()) != axes.rank()) {
    fail(Code::invalid, "roll: %d shifts for %d axes", static_cast<int>(shifts.size()),
         axes.rank());
  }
  Tensor result = x;
  for (int i = 0; i < axes.rank(); ++i) {
    int axis = normalize_axis(axes[i], x.rank(), "roll");
    int64_t size = x.shape()[axis];
    if (size == 0) continue;
    int64_t front = ((shifts[i] % size) + size) % size;  // come in at the front
    if (front == 0) continue;
    result = concat(
        {slice(result, axis, size - front, front, 1), slice(result, axis, 0, size - front, 1)},
        axis);
  }
  return result;
}

namespace {

// The axis becomes [count, size], its elements one after the other so often, or [size, count], each
// so often: a broadcast, and a copy where the layout asks for one.
Tensor repeated(const Tensor& x, int axis, int64_t count, bool each) {
  const int64_t size = x.shape()[axis], total = size * count;
  Shape result = x.shape();
  result[axis] = total;
  if (x.rank() < max_rank) {
    Shape paired = x.shape();
    const int place = each ? axis + 1 : axis;
    paired.insert(place, 1);
    Shape spread = paired;
    spread[place] = count;
    return reshape(expand(reshape(x, paired), spread), result);
  }
  Tensor places = iota({total}, Dtype::int64, x.device());
  Tensor among = integer_number(std::max<int64_t>(each ? count : size, 1), x.device());
  return index_select(x, each ? floor_divide(places, among) : remainder(places, among), axis);
}

}  // namespace

Tensor tile(const Tensor& x, const Dims& counts) {
  const int rank = std::max(x.rank(), counts.rank());
  Shape own = x.shape();
  while (own.rank() < rank) own.insert(0, 1);
  Shape result = own;
  int ranks = rank;
  for (int i = rank - counts.rank(); i < rank; ++i) {
    const int64_t count = counts[i - (rank - counts.rank())];
    if (count < 0) {
      fail(Code::invalid, "tile: %lld repetitions", static_cast<long long>(count));
    }
    if (__builtin_mul_overflow(own[i], count, &result[i])) {
      fail(Code::shape, "tile: %lld times %s is too large", static_cast<long long>(count),
           to_string(x.shape()).c_str());
    }
    if (count != 1) ++ranks;
  }
  check_shape(result, size_of(x.dtype()), "tile");
  auto count = [&](int axis) { return own[axis] == 0 ? 1 : result[axis] / own[axis]; };
  Tensor y = reshape(x, own);
  if (ranks > max_rank) {
    for (int axis = rank - 1; axis >= 0; --axis) {
      if (count(axis) != 1) y = repeated(y, axis, count(axis), false);
    }
    return y;
  }
  Shape paired, spread;
  for (int axis = 0; axis < rank; ++axis) {
    if (count(axis) != 1) {
      paired.push_back(1);
      spread.push_back(count(axis));
    }
    paired.push_back(own[axis]);
    spread.push_back(own[axis]);
  }
  return reshape(expand(reshape(y, paired), spread), result);
}

Tensor repeat(const Tensor& x, int64_t count, int64_t axis) {
  int chosen = normalize_axis(axis, x.rank(), "repeat");
  if (count < 0) fail(Code::invalid, "repeat: %lld times", static_cast<long long>(count));
  int64_t total = 0;
  if (__builtin_mul_overflow(x.shape()[chosen], count, &total)) {
    fail(Code::shape, "repeat: %lld times axis %d of %s is too large",
         static_cast<long long>(count), chosen, to_string(x.shape()).c_str());
  }
  Shape result = x.shape();
  result[chosen] = total;
  check_shape(result, size_of(x.dtype()), "repeat");
  return repeated(x, chosen, count, true);
}

Tensor repeat(const Tensor& x, const Tensor& counts, int64_t axis) {
  int chosen = normalize_axis(axis, x.rank(), "repeat");
  if (!is_integer(counts.dtype())) {
    fail(Code::dtype, "repeat: counts are integers, not %s", name_of(counts.dtype()));
  }
  const bool one_for_all = counts.size() == 1;
  int64_t size = x.shape()[chosen];
  if (!one_for_all && (counts.rank() != 1 || counts.shape()[0] != size)) {
    fail(Code::shape, "repeat: counts %s for axis %d of %s", to_string(counts.shape()).c_str(),
         chosen, to_string(x.shape()).c_str());
  }
  refuse_trace("repeat");
  if (one_for_all) return repeat(x, read_integer(reshape(counts, {})), axis);
  if (size == 0) return x;
  Tensor wide = cast(counts, Dtype::int64);
  if (read_integer(min(wide)) < 0) fail(Code::invalid, "repeat: a count below 0");
  if (int64_t most = read_integer(max(wide)); most > std::numeric_limits<int64_t>::max() / size) {
    fail(Code::shape, "repeat: %lld times an element of axis %d of %s is too large",
         static_cast<long long>(most), chosen, to_string(x.shape()).c_str());
  }
  Tensor ends = cumulative_sum(wide, 0);
  int64_t total = read_integer(select(ends, 0, -1));
  Shape result = x.shape();
  result[chosen] = total;
  check_shape(result, size_of(x.dtype()), "repeat");
  Tensor positions = searchsorted(ends, iota({total}, Dtype::int64, x.device()), true);
  return index_select(x, positions, chosen);
}

Tensor diff(const Tensor& x, int64_t axis, int64_t order) {
  if (order < 0) fail(Code::invalid, "diff: order %lld", static_cast<long long>(order));
  int chosen = normalize_axis(axis, x.rank(), "diff");
  Tensor result = x;
  for (; order > 0; --order) {
    int64_t length = std::max<int64_t>(result.shape()[chosen] - 1, 0);
    Tensor after = slice(result, chosen, length ? 1 : 0, length, 1);
    Tensor before = slice(result, chosen, 0, length, 1);
    result = result.dtype() == Dtype::boolean ? not_equal(after, before) : after - before;
    if (length == 0) break;
  }
  return result;
}

}  // namespace mt
