// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/recurrent/lstm.h"

#include <algorithm>
#include <cstring>

#include "backends/cpu/contract/contract.h"
#include "backends/cpu/elementwise/kernels.h"
#include "backends/cpu/elementwise/work.h"
#include "backends/cpu/parallel/parallel.h"
#include "base/rounding.h"
#include "ops/order.h"

namespace mt::cpu {
namespace {

constexpr int64_t number_bytes = sizeof(float);

struct Sizes {
  int64_t batch, n, hidden;

  // As many parts of the rows as are worth it and have the order of sums that all rows would have.
  int64_t shares(int threads) const {
    const int64_t products = batch * n * hidden * hidden * 4;
    int64_t wanted = std::clamp<int64_t>(std::min(products / grain_work, batch), 1, threads);
    while (!has_same_order(batch / wanted) || !has_same_order(most_rows(wanted))) --wanted;
    return wanted;
  }
  bool has_same_order(int64_t rows) const {
    const auto same = [&](int64_t columns, int64_t terms) {
      const ContractionOrder part = contraction_order(rows, columns, terms, Dtype::float32);
      const ContractionOrder all = contraction_order(batch, columns, terms, Dtype::float32);
      return part.lanes == all.lanes && part.panel == all.panel;
    };
    return same(4 * hidden, hidden) && same(hidden, 4 * hidden);
  }
  int64_t most_rows(int64_t of) const { return divide_up(batch, of); }
};

// x [rows, terms], `pitch` apart, times a matrix of [columns, terms] with these strides.
PreparedContraction product(int64_t rows, int64_t pitch, int64_t columns, int64_t column_stride,
                            int64_t terms, int64_t term_stride) {
  Contraction c;
  c.a = c.b = c.out = Dtype::float32;
  c.m = {{rows, pitch, 0}};
  c.n = {{columns, 0, column_stride}};
  c.k = {{terms, 1, term_stride}};
  return PreparedContraction(c, 1);
}

// Those of the parts of the batch, of which the longer ones have a row more.
class Products {
 public:
  template <class Make>
  Products(const Sizes& sizes, int64_t shares, Make&& make)
      : rows_(sizes.batch / shares), less_(make(rows_)), more_(make(sizes.most_rows(shares))) {}
  const PreparedContraction& of(int64_t rows) const { return rows == rows_ ? less_ : more_; }
  int64_t scratch() const {
    return static_cast<int64_t>(std::max(less_.scratch(), more_.scratch()));
  }

 private:
  int64_t rows_;
  PreparedContraction less_, more_;
};

// Vectors that every processor has: what is not a product or a function is little beside these.
using Four [[gnu::vector_size(16)]] = float;
template <class V>
V load(const float* from) {
  V x;
  std::memcpy(&x, from, sizeof x);
  return x;
}
template <class V>
void store(float* to, V x) {
  std::memcpy(to, &x, sizeof x);
}
// f(j, zero) for elements [0, count), by fours and then one by one; `zero` is of their type.
template <class F>
void each(int64_t count, F&& f) {
  int64_t j = 0;
  for (; j + 4 <= count; j += 4) f(j, Four{});
  for (; j < count; ++j) f(j, 0.0f);
}

// Rows [b, t] of numbers with any strides.
class Rows {
 public:
  explicit Rows(const NaiveArray& x)
      : data_(static_cast<const float*>(x.data) + x.layout.offset), strides_(x.layout.strides) {}
  // A row, copied to `room` if its numbers do not lie next to each other.
  const float* at(int64_t b, int64_t t, int64_t count, float* room) const {
    const float* row = data_ + b * strides_[0] + t * strides_[1];
    if (strides_[2] == 1) return row;
    for (int64_t j = 0; j < count; ++j) room[j] = row[j * strides_[2]];
    return room;
  }

 private:
  const float* data_;
  Strides strides_;
};

// Rows [begin, end) of a matrix, in order.
void copy_rows(const NaiveArray& x, int64_t begin, int64_t end, float* to) {
  const float* data = static_cast<const float*>(x.data) + x.layout.offset;
  for (int64_t i = begin; i < end; ++i) {
    for (int64_t j = 0; j < x.layout.shape[1]; ++j) {
      *to++ = data[i * x.layout.strides[0] + j * x.layout.strides[1]];
    }
  }
}

class Activations {
 public:
  explicit Activations(int64_t hidden)
      : hidden_(hidden),
        sigmoid_(elementwise_operator(Elementwise::sigmoid, Compute::f32)),
        tanh_(elementwise_operator(Elementwise::tanh, Compute::f32)) {}

  // Of the gates input, forget, cell and output.
  void gates(const float* from, float* to) const {
    apply(sigmoid_, from, 2 * hidden_, to);
    apply(tanh_, from + 2 * hidden_, hidden_, to + 2 * hidden_);
    apply(sigmoid_, from + 3 * hidden_, hidden_, to + 3 * hidden_);
  }
  void tanh(const float* from, int64_t count, float* to) const { apply(tanh_, from, count, to); }
  // The cell after gates that are activated.
  void cell(const float* gates, const float* before, float* after) const {
    const float *i = gates, *f = gates + hidden_, *g = gates + 2 * hidden_;
    each(hidden_, [=](int64_t j, auto zero) {
      using V = decltype(zero);
      store(after + j, load<V>(f + j) * load<V>(before + j) + load<V>(i + j) * load<V>(g + j));
    });
  }

 private:
  static void apply(Operator what, const float* from, int64_t count, float* to) {
    const Input inputs[] = {{from}, {}, {}};
    what(to, inputs, 1, count);
  }

  int64_t hidden_;
  Operator sigmoid_, tanh_;
};

// Sums in lanes read the weights along the terms, as they lie; chains read them along the gates.
bool turns_weights(const Sizes& sizes) {
  const int64_t h = sizes.hidden;
  return contraction_order(sizes.batch, 4 * h, h, Dtype::float32).lanes == 1;
}

// From one row of transposed weights to the next: a line more than they have, as rows a power of
// two apart meet in few sets of the first-level cache.
int64_t weight_pitch(const Sizes& sizes) { return 4 * sizes.hidden + cache_line / number_bytes; }

Products forward_products(const Sizes& sizes, int64_t shares) {
  const int64_t h = sizes.hidden;
  const bool turned = turns_weights(sizes);
  return Products(sizes, shares, [&](int64_t rows) {
    return product(rows, h, 4 * h, turned ? 1 : h, h, turned ? weight_pitch(sizes) : 1);
  });
}

// What each share has in scratch, in elements: the gates of a position, states, cells and their
// tanh, and a row; then what its product needs, in bytes.
struct ForwardScratch {
  int64_t weights, gates, states, own, all;
  ForwardScratch(const Sizes& sizes, const Products& products, int64_t shares) {
    const int64_t rows = sizes.most_rows(shares), h = sizes.hidden;
    weights = round_up(h * weight_pitch(sizes) * number_bytes, cache_line);
    gates = rows * 4 * h;
    states = rows * h;
    own = round_up((gates + 3 * states + 4 * h) * number_bytes, cache_line);
    all = round_up(own + products.scratch(), cache_line);
  }
};

void run_lstm(const NaiveCall& call, const Sizes& sizes, char* scratch, int threads) {
  const int64_t h = sizes.hidden, n = sizes.n, shares = sizes.shares(threads);
  const Products products = forward_products(sizes, shares);
  const ForwardScratch room(sizes, products, shares);
  const NaiveArray& weight = call.inputs[1];
  float* const weights = reinterpret_cast<float*>(scratch);
  if (turns_weights(sizes)) {
    NaiveArray turned = weight;
    turned.layout = permute(weight.layout, {1, 0});
    for (int64_t k = 0; k < h; ++k) copy_rows(turned, k, k + 1, weights + k * weight_pitch(sizes));
  } else {
    copy_rows(weight, 0, 4 * h, weights);
  }
  const Rows inputs(call.inputs[0]);
  const Activations activations(h);
  float* const result = static_cast<float*>(call.output.data) + call.output.layout.offset;
  parallel_workers(shares, 1, threads, [&](int, int64_t first, int64_t last) {
    for (int64_t share = first; share < last; ++share) {
      const int64_t begin = sizes.batch * share / shares, end = sizes.batch * (share + 1) / shares;
      const int64_t rows = end - begin;
      char* const own = scratch + room.weights + share * room.all;
      float *const z = reinterpret_cast<float*>(own), *const state = z + room.gates;
      float *const cell = state + room.states, *const bounded = cell + room.states;
      float* const row = bounded + room.states;
      copy_rows(call.inputs[2], begin, end, state);
      copy_rows(call.inputs[3], begin, end, cell);
      for (int64_t t = 0; t < n; ++t) {
        products.of(rows).run(state, weights, z, own + room.own);
        for (int64_t r = 0; r < rows; ++r) {
          float* const gates = z + r * 4 * h;
          const float* const given = inputs.at(begin + r, t, 4 * h, row);
          each(4 * h, [=](int64_t j, auto zero) {
            using V = decltype(zero);
            store(gates + j, load<V>(given + j) + load<V>(gates + j));
          });
          activations.gates(gates, gates);
          activations.cell(gates, cell + r * h, cell + r * h);
        }
        activations.tanh(cell, rows * h, bounded);
        for (int64_t r = 0; r < rows; ++r) {
          const float *const o = z + (r * 4 + 3) * h, *const y = bounded + r * h;
          float *const s = state + r * h, *const to = result + ((begin + r) * n + t) * h;
          each(h, [=](int64_t j, auto zero) {
            using V = decltype(zero);
            store(s + j, load<V>(o + j) * load<V>(y + j));
          });
          std::copy_n(s, h, to);
        }
      }
      std::copy_n(cell, rows * h, result + (sizes.batch * n + begin) * h);
    }
  });
}

Products backward_products(const Sizes& sizes, int64_t shares, const Layout& weight) {
  const int64_t h = sizes.hidden;
  return Products(sizes, shares, [&](int64_t rows) {
    return product(rows, sizes.n * 4 * h, h, weight.strides[1], 4 * h, weight.strides[0]);
  });
}

// What each share has in scratch: of each row the cells before and after all positions, and their
// tanh; what has arrived at the state; a row.
struct BackwardScratch {
  int64_t cells, own, all;
  BackwardScratch(const Sizes& sizes, const Products& products, int64_t shares) {
    const int64_t rows = sizes.most_rows(shares), h = sizes.hidden;
    cells = rows * (sizes.n + 1) * h;
    own = round_up((2 * cells + 2 * rows * h + h) * number_bytes, cache_line);
    all = round_up(own + products.scratch(), cache_line);
  }
};

// At a position, from what arrives at its state and cell: what arrives at what its gates were made
// of, in the gates' place, and at the cell before.
void step_back(int64_t h, const float* at_state, const float* dy, const float* bounded,
               const float* before, float* gates, float* at_cell) {
  float *const i = gates, *const f = i + h, *const g = f + h, *const o = g + h;
  each(h, [=](int64_t j, auto zero) {
    using V = decltype(zero);
    const V one = zero + 1.0f, in = load<V>(i + j), keep = load<V>(f + j);
    const V fresh = load<V>(g + j), out = load<V>(o + j), y = load<V>(bounded + j);
    const V dh = load<V>(at_state + j) + load<V>(dy + j);
    const V dc = load<V>(at_cell + j) + dh * out * (one - y * y);
    store(at_cell + j, dc * keep);
    store(i + j, dc * fresh * in * (one - in));
    store(f + j, dc * load<V>(before + j) * keep * (one - keep));
    store(g + j, dc * in * (one - fresh * fresh));
    store(o + j, dh * y * out * (one - out));
  });
}

void run_lstm_gradient(const NaiveCall& call, const Sizes& sizes, char* scratch, int threads) {
  const int64_t h = sizes.hidden, n = sizes.n, shares = sizes.shares(threads);
  const NaiveArray& weight = call.inputs[1];
  const Products products = backward_products(sizes, shares, weight.layout);
  const BackwardScratch room(sizes, products, shares);
  const float* const weights = static_cast<const float*>(weight.data) + weight.layout.offset;
  const Rows sums(call.inputs[0]), arrived(call.inputs[3]);
  const Activations activations(h);
  float* const result = static_cast<float*>(call.output.data) + call.output.layout.offset;
  float* const to_state = result + sizes.batch * n * 4 * h;
  float* const to_cell = to_state + sizes.batch * h;
  parallel_workers(shares, 1, threads, [&](int, int64_t first, int64_t last) {
    for (int64_t share = first; share < last; ++share) {
      const int64_t begin = sizes.batch * share / shares, end = sizes.batch * (share + 1) / shares;
      const int64_t rows = end - begin;
      char* const own = scratch + share * room.all;
      float *const cells = reinterpret_cast<float*>(own), *const bounded = cells + room.cells;
      float *const at_state = bounded + room.cells, *const at_cell = to_cell + begin * h;
      float* const row = at_state + rows * h;
      for (int64_t r = 0; r < rows; ++r) {
        float* cell = cells + r * (n + 1) * h;
        copy_rows(call.inputs[2], begin + r, begin + r + 1, cell);
        for (int64_t t = 0; t < n; ++t, cell += h) {
          float* const gates = result + ((begin + r) * n + t) * 4 * h;
          activations.gates(sums.at(begin + r, t, 4 * h, gates), gates);
          activations.cell(gates, cell, cell + h);
        }
      }
      activations.tanh(cells, rows * (n + 1) * h, bounded);
      std::fill_n(at_state, rows * h, float(0));
      copy_rows(call.inputs[4], begin, end, at_cell);
      for (int64_t t = n; t-- > 0;) {
        for (int64_t r = 0; r < rows; ++r) {
          const int64_t at = (r * (n + 1) + t) * h;
          step_back(h, at_state + r * h, arrived.at(begin + r, t, h, row), bounded + at + h,
                    cells + at, result + ((begin + r) * n + t) * 4 * h, at_cell + r * h);
        }
        products.of(rows).run(result + (begin * n + t) * 4 * h, weights, at_state, own + room.own);
      }
      std::copy_n(at_state, rows * h, to_state + begin * h);
    }
  });
}

Sizes sizes_of(const Shape& gates) { return {gates[0], gates[1], gates[2] / 4}; }

}  // namespace

void lstm_kernel(const NaiveCall& call, void* scratch, int threads) {
  run_lstm(call, sizes_of(call.inputs[0].layout.shape), static_cast<char*>(scratch), threads);
}

int64_t lstm_scratch(const CallGroup& group, int threads) {
  const Sizes sizes = sizes_of(group.inputs[0].layout.shape);
  const int64_t shares = sizes.shares(threads);
  const ForwardScratch room(sizes, forward_products(sizes, shares), shares);
  return room.weights + shares * room.all;
}

void lstm_gradient_kernel(const NaiveCall& call, void* scratch, int threads) {
  const Sizes sizes = sizes_of(call.inputs[0].layout.shape);
  run_lstm_gradient(call, sizes, static_cast<char*>(scratch), threads);
}

int64_t lstm_gradient_scratch(const CallGroup& group, int threads) {
  const Sizes sizes = sizes_of(group.inputs[0].layout.shape);
  const int64_t shares = sizes.shares(threads);
  const Products products = backward_products(sizes, shares, group.inputs[1].layout);
  return shares * BackwardScratch(sizes, products, shares).all;
}

}  // namespace mt::cpu
