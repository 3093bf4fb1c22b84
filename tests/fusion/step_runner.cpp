// SPDX-License-Identifier: Apache-2.0
#include "fusion/step_runner.h"

#include <cmath>

#include "base/error.h"
#include "ops/ops.h"

namespace mt::testing {
namespace {

using Unary = Tensor (*)(const Tensor&);
using Binary = Tensor (*)(const Tensor&, const Tensor&);

// Bounded slopes and values, so that rounding errors stay small.
const Unary tame_unary[] = {neg, tanh, sin, cos, sigmoid, atan, erf, softplus};
const Binary tame_binary[] = {add, sub, mul};

// The sign of a NaN is nobody's promise, so what reads it is left out.
constexpr bool reads_sign(Elementwise code) {
  return code == Elementwise::copysign || code == Elementwise::signbit;
}

const Unary wild_unary[] = {
#define UNARY(name, domain, result, value, gradient) reads_sign(Elementwise::name) ? neg : name,
#define BINARY(name, domain, result, value, gradient_a, gradient_b)
#include "ops/elementwise.def"
#undef UNARY
#undef BINARY
};
const Binary wild_binary[] = {
#define UNARY(name, domain, result, value, gradient)
#define BINARY(name, domain, result, value, gradient_a, gradient_b) \
  reads_sign(Elementwise::name) ? add : name,
#include "ops/elementwise.def"
#undef UNARY
#undef BINARY
};

const Op random_op{"random", OpKind::random};

constexpr int64_t most_elements = 1 << 18;

bool fit(const Shape& a, const Shape& b) {
  for (int i = 1; i <= std::min(a.rank(), b.rank()); ++i) {
    int64_t x = a[a.rank() - i], y = b[b.rank() - i];
    if (x != y && x != 1 && y != 1) return false;
  }
  return element_count(broadcast(a, b, "test")) <= most_elements;
}

int64_t extent(const Tensor& x, const Dims& axes) {
  int64_t n = 1;
  for (int i = 0; i < x.rank(); ++i) n *= axes.empty() || axes.contains(i) ? x.shape()[i] : 1;
  return n;
}

}  // namespace

Tensor StepRunner::apply(const Step& step) {
  const Tensor& x = values[static_cast<size_t>(step.a)];
  try {
    Tensor y = attempt(step, x);
    return y.size() <= most_elements ? y : x;
  } catch (const Error& error) {
    // An operator that refuses these types or shapes; anything else is a fault.
    switch (error.code()) {
      case Code::shape:
      case Code::dtype:
      case Code::index:
      case Code::invalid: return x;
      default: throw;
    }
  }
}

// Keeps sums of n terms moderate.
Tensor StepRunner::settled(const Tensor& y, int64_t n) {
  if (!tame() || !is_floating(y.dtype())) return y;
  return y * (1.0 / std::sqrt(static_cast<double>(std::max<int64_t>(n, 1))));
}

Dims StepRunner::some_axes(const Tensor& x) {
  Dims axes;
  uint64_t bits = take(1u << 4);
  for (int i = 0; i < x.rank(); ++i) {
    if (bits >> i & 1) axes.push_back(i);
  }
  return axes;
}

Tensor StepRunner::attempt(const Step& step, const Tensor& x) {
  choice_ = step.choice;
  switch (step.code) {
    case unary_step:
    case unary_step_:
    case unary_step__:
      if (!tame()) return wild_unary[take(std::size(wild_unary))](x);
      if (!is_floating(x.dtype())) return x;
      return tame_unary[take(std::size(tame_unary))](x);
    case binary_step:
    case binary_step_:
    case binary_step__:
    case binary_step___: {
      Tensor y = find(step.b, x, [&](const Tensor& t) {
        return fit(x.shape(), t.shape()) &&
               (!tame() || is_floating(t.dtype()) == is_floating(x.dtype()));
      });
      if (!tame()) return wild_binary[take(std::size(wild_binary))](x, y);
      if (x.dtype() == Dtype::boolean && y.dtype() == Dtype::boolean) return bitwise_xor(x, y);
      Tensor z = tame_binary[take(std::size(tame_binary))](x, y);
      return is_floating(z.dtype()) ? z * 0.5 : z;
    }
    case scalar_step: {
      Tensor two = take(2) ? number(0.75, device_) : number(-1.5, device_);
      if (!is_floating(x.dtype())) two = integer_number(static_cast<int64_t>(take(7)) - 3, device_);
      return take(2) ? x * two : two - x;
    }
    case select_step: {
      auto fits = [&](const Tensor& t) {
        return fit(x.shape(), t.shape()) && is_floating(t.dtype()) == is_floating(x.dtype());
      };
      Tensor y = find(step.b, x, fits);
      Tensor condition = find(step.c, x, [&](const Tensor& t) {
        return t.dtype() == Dtype::boolean && fit(broadcast(x.shape(), y.shape(), ""), t.shape());
      });
      if (condition.dtype() != Dtype::boolean) {
        // Of the position, which has no rounding errors.
        condition =
            equal(remainder(iota(x.shape(), Dtype::int64, device_), integer_number(3, device_)),
                  integer_number(0, device_));
      }
      return mt::where(condition, x, y);
    }
    case cast_step: {
      static constexpr Dtype floats[] = {Dtype::float32, Dtype::float64, Dtype::float32,
                                         Dtype::float16, Dtype::bfloat16};
      if (tame() && is_floating(x.dtype())) return cast(x, floats[take(std::size(floats))]);
      return cast(x, static_cast<Dtype>(take(dtype_count)));
    }
    case copy_step: return copy(x);
    case reshape_step: return reshaped(x);
    case permute_step: {
      Dims order;
      for (int i = 0; i < x.rank(); ++i)
        order.insert(static_cast<int>(take(static_cast<uint64_t>(i) + 1)), i);
      return permute(x, order);
    }
    case expand_step: {
      Shape shape = x.shape();
      for (int i = 0; i < shape.rank(); ++i) {
        if (shape[i] == 1) shape[i] = static_cast<int64_t>(take(4)) + 1;
      }
      if (shape.rank() < 4) shape.insert(0, static_cast<int64_t>(take(3)) + 1);
      return element_count(shape) <= most_elements ? expand(x, shape) : x;
    }
    case slice_step: {
      if (x.rank() == 0) return x;
      int axis = static_cast<int>(take(static_cast<uint64_t>(x.rank())));
      int64_t size = x.shape()[axis];
      if (size == 0) return x;
      int64_t move = static_cast<int64_t>(take(3)) + 1;
      int64_t start = static_cast<int64_t>(take(static_cast<uint64_t>(std::min<int64_t>(size, 5))));
      int64_t length = (size - start + move - 1) / move;
      if (take(4) == 0) length = static_cast<int64_t>(take(2));
      return slice(x, axis, start, std::min(length, (size - start + move - 1) / move), move);
    }
    case flip_step: return x.rank() ? flip(x, some_axes(x)) : x;
    case squeeze_step:
      return take(2) || x.rank() > 4
                 ? squeeze(x, {})
                 : unsqueeze(x, static_cast<int>(take(static_cast<uint64_t>(x.rank()) + 1)));
    case window_step: {
      if (x.rank() == 0 || x.rank() > 4) return x;
      int axis = static_cast<int>(take(static_cast<uint64_t>(x.rank())));
      return window(x, axis, static_cast<int64_t>(take(3)) + 1, static_cast<int64_t>(take(2)) + 1,
                    static_cast<int64_t>(take(2)) + 1);
    }
    case detach_step: return take(3) ? x : detach(x);
    case sum_step:
    case sum_step_: {
      Dims axes = some_axes(x);
      return settled(sum(x, axes, take(2)), extent(x, axes));
    }
    case mean_step: {
      if (tame() && !is_floating(x.dtype())) return x;
      Dims axes = some_axes(x);
      if (extent(x, axes) == 0) return x;  // 0 / 0
      return mean(x, axes, take(2));
    }
    case extreme_step: {
      if (tame() && is_floating(x.dtype())) return x;  // ties and near ties
      Dims axes = some_axes(x);
      return take(2) ? max(x, axes, take(2)) : min(x, axes, take(2));
    }
    case prod_step: {
      if (tame() && is_floating(x.dtype())) return x;
      return prod(x, some_axes(x), take(2));
    }
    case softmax_step: {
      if (!is_floating(x.dtype()) || x.rank() == 0 || x.size() == 0) return x;
      Tensor wide = cast(tame() ? tanh(x) : x, accumulator_of(x.dtype()));
      Tensor e = exp(take(2) && !tame() ? wide - max(wide, {-1}, true) : wide);
      return cast(e / sum(e, {-1}, true), x.dtype());
    }
    case normal_step: {
      if (!is_floating(x.dtype()) || x.rank() == 0 || x.size() == 0) return x;
      Tensor wide = cast(x, accumulator_of(x.dtype()));
      Tensor centred = wide - mean(wide, {-1}, true);
      return cast(centred * rsqrt(mean(square(centred), {-1}, true) + 0.5), x.dtype());
    }
    case matmul_step: {
      if (x.rank() == 0 || (tame() && !is_floating(x.dtype())) || x.dtype() == Dtype::boolean)
        return x;
      Tensor y = find(step.b, x, [&](const Tensor& t) {
        return t.rank() > 1 && t.dtype() == x.dtype() &&
               t.shape()[t.rank() - 2] == x.shape().back() && (x.rank() <= 2 || t.rank() <= 2);
      });
      if (y.node() == x.node()) {
        if (x.rank() < 2) return settled(matmul(x, x), x.size());
        y = transpose(x);
      }
      int64_t k = x.shape().back();
      if (element_count(x.shape()) * y.shape().back() > most_elements * 8) return x;
      return settled(matmul(x, y), k);
    }
    case contract_step: {
      if (x.rank() == 0 || x.dtype() == Dtype::boolean) return x;
      Tensor y = find(step.b, x, [&](const Tensor& t) {
        return t.rank() > 0 && t.dtype() == x.dtype() && t.shape().back() == x.shape().back() &&
               t.rank() + x.rank() <= 6;
      });
      int64_t k = x.shape().back();
      if (k && element_count(x.shape()) / k * element_count(y.shape()) > most_elements * 8)
        return x;
      int batch = 0;
      while (take(2) && batch + 1 < std::min(x.rank(), y.rank()) &&
             x.shape()[batch] == y.shape()[batch]) {
        ++batch;
      }
      return settled(contract(x, y, batch, x.rank() - 1 - batch, y.rank() - 1 - batch, 1), k);
    }
    case product_sum_step: {
      // As a user new to matmul writes it.
      if (x.rank() == 0 || x.rank() > 3 || x.dtype() == Dtype::boolean) return x;
      Tensor y = find(step.b, x, [&](const Tensor& t) {
        return t.rank() > 0 && t.rank() < 4 && t.dtype() == x.dtype() &&
               t.shape().back() == x.shape().back();
      });
      Tensor left = unsqueeze(x, x.rank() - 1);
      if (!fit(left.shape(), y.shape())) return x;
      Tensor product = left * y;
      return settled(sum(product, {-1}, take(2)), x.shape().back());
    }
    case embed_step: {
      if (x.rank() == 0 || x.size() > 1 << 15) return x;
      int axis = static_cast<int>(take(static_cast<uint64_t>(x.rank())));
      int64_t move = static_cast<int64_t>(take(2)) + 1, start = static_cast<int64_t>(take(3));
      Shape shape = x.shape();
      shape[axis] = start + std::max<int64_t>(0, (shape[axis] - 1) * move + 1) +
                    static_cast<int64_t>(take(2));
      return place_along(x, shape, axis, start, move);
    }
    case shift_step:
    case shift_step_: {
      // Of what is repeated, too, a row or a number.
      if (x.rank() == 0 || x.dtype() == Dtype::boolean) return x;
      const int axis = static_cast<int>(take(static_cast<uint64_t>(x.rank())));
      const int64_t size = x.shape()[axis], by = static_cast<int64_t>(take(3)) + 1;
      if (size <= by) return x;
      const Tensor y = find(step.b, x, [&](const Tensor& t) {
        return t.dtype() == x.dtype() && fit(x.shape(), t.shape()) &&
               broadcast(x.shape(), t.shape(), "") == x.shape();
      });
      const Tensor repeated = expand(y, x.shape());
      const bool forward = take(2);
      const Tensor part = slice(repeated, axis, forward ? 0 : by, size - by, 1);
      const Tensor moved = place_along(part, x.shape(), axis, forward ? by : 0, 1);
      const Tensor z = take(2) ? x + moved : x * moved;
      return tame() && is_floating(z.dtype()) ? z * 0.5 : z;
    }
    case fold_step: {
      if (x.rank() == 0 || x.rank() > 3 || x.size() > 1 << 15 || !is_floating(x.dtype())) return x;
      int axis = static_cast<int>(take(static_cast<uint64_t>(x.rank())));
      if (x.shape()[axis] < 3) return x;
      Tensor windows = window(x, axis, 3, 1, 1);
      return fold(tame() ? windows * 0.5 : windows, x.shape(), axis, 1, 1);
    }
    case constant_step: {
      if (tame() || take(2)) return x + full(x.shape(), 0.25, Dtype::float32, device_);
      return full_integer(x.shape(), static_cast<int64_t>(take(9)) - 4,
                          static_cast<Dtype>(take(dtype_count)), device_);
    }
    case iota_step: {
      Tensor positions = iota(x.shape(), take(2) ? Dtype::int64 : Dtype::int32, device_);
      return take(2) ? positions : cast(positions, Dtype::float32) * 0x1p-18;
    }
    case random_step: {
      Dtype dtype = take(3) == 0 ? Dtype::float64 : Dtype::float32;
      if (!tame() && take(4) == 0) dtype = Dtype::uint32;
      return record_source(random_op, dtype, x.shape(), device_, {}, {{take(1000), take(1000)}});
    }
    case slot_step:
    case slot_step_: {
      StateSlot& slot = slots_->slot[take(slot_count)];
      Tensor before = slot.get();
      if (before && before.shape() == x.shape() && before.dtype() == x.dtype() &&
          is_floating(x.dtype())) {
        slot.set(before * 0.5 + x);
      } else if (!before || take(3) == 0) {
        slot.set(x);
      } else {
        return before.shape() == x.shape() && before.dtype() == x.dtype() ? before : x;
      }
      return slot.get();
    }
    case chain_step: {
      // Long enough to be stored rather than recomputed, or to fill a group.
      if (!is_floating(x.dtype())) return x;
      Tensor y = x;
      for (uint64_t i = 0, n = 4 + take(70); i < n; ++i) y = i % 2 ? y * 0.5 : y + x;
      return tame() ? tanh(y) : y;
    }
  }
  return x;
}

Tensor StepRunner::reshaped(const Tensor& x) {
  Shape shape = x.shape();
  uint64_t way = take(4);
  if (way == 0 || shape.rank() == 0) return reshape(x, {x.size()});
  int i = static_cast<int>(take(static_cast<uint64_t>(shape.rank())));
  if (way == 1 && shape.rank() > 1) {
    i = std::min(i, shape.rank() - 2);
    shape[i] *= shape[i + 1];
    shape.erase(i + 1);
    return reshape(x, shape);
  }
  for (int64_t divisor : {2, 3, 5, 7}) {
    if (shape[i] % divisor || shape[i] == 0 || shape.rank() > 4) continue;
    shape[i] /= divisor;
    shape.insert(i + (way == 2), divisor);
    break;
  }
  return reshape(x, shape);
}

}  // namespace mt::testing
