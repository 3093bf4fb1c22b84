// SPDX-License-Identifier: Apache-2.0
// What finishes the tiles of a product, which may be parts of its rows, has the bits of the same
// over a product that was stored before.
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "backends/cpu/contract/windows/abreast.h"
#include "backends/cpu/contract_group.h"
#include "backends/cpu/parallel/parallel.h"
#include "fusion/planned.h"
#include "fusion/support.h"
#include "ops/random.h"

namespace mt::testing {
namespace {

Tensor stored(const Tensor& x) {
  evaluate(x);
  return x;
}

// For products [rows, columns].
struct Operands {
  Tensor bias, narrow_bias, wide_bias, chosen, per_row, residual, turned, one, label;
  Operands(int64_t rows, int64_t columns)
      : bias(random_leaf({columns}, 1)),
        narrow_bias(stored(cast(random_leaf({columns}, 2), Dtype::bfloat16))),
        wide_bias(stored(cast(random_leaf({columns}, 3), Dtype::float64))),
        chosen(stored(greater(random_leaf({columns}, 4), number(0, find_device("cpu"))))),
        per_row(random_leaf({rows, 1}, 5)),
        residual(random_leaf({rows, columns}, 6)),
        turned(transpose(random_leaf({columns, rows}, 7))),
        one(random_leaf({}, 8)),
        label(stored(integers({rows, 1}, 0, columns, Dtype::int64, find_device("cpu")))) {}
};

using Epilogue = Tensor (*)(const Tensor& product, const Operands& with);
constexpr Epilogue epilogues[] = {
    [](const Tensor& x, const Operands& o) { return relu(add(x, o.bias)); },
    [](const Tensor& x, const Operands& o) { return mul(add(x, o.bias), o.per_row); },
    [](const Tensor& x, const Operands& o) { return add(add(x, o.bias), o.residual); },
    [](const Tensor& x, const Operands& o) { return sub(mul(x, o.one), mul(o.bias, o.turned)); },
    [](const Tensor& x, const Operands& o) { return where(o.chosen, add(x, o.bias), o.one); },
    [](const Tensor& x, const Operands& o) { return mul(mul(x, o.bias), o.narrow_bias); },
    [](const Tensor& x, const Operands& o) { return add(mul(x, o.bias), o.wide_bias); },
    [](const Tensor& x, const Operands& o) { return cast(add(x, o.bias), Dtype::float16); },
    [](const Tensor& x, const Operands& o) { return cast(add(x, o.residual), Dtype::float16); },
    [](const Tensor& x, const Operands& o) { return dropout(add(x, o.bias), 0.25, true); },
    [](const Tensor& x, const Operands& o) {
      Tensor places = arange(0, static_cast<double>(x.shape()[1]), 1, Dtype::float32, x.device());
      return add(mul(x, places), o.bias);
    },
    [](const Tensor& x, const Operands& o) {
      Tensor places = arange(0, static_cast<double>(x.shape()[1]), 1, Dtype::int64, x.device());
      return where(equal(places, o.label), o.one, x);
    },
};

TEST(TileEpilogue, HasTheBitsOfAStoredProduct) {
  install_fusing_evaluator();
  for (const auto& [rows, terms, columns] : {std::array<int64_t, 3>{70, 40, 600},
                                             {300, 96, 600},
                                             {130, 300, 1100},
                                             {20, 30, 40},
                                             // whose transpose is computed:
                                             {64, 300, 600},
                                             {48, 300, 100},
                                             {128, 700, 40}}) {
    const Operands with(rows, columns);
    for (Dtype dtype : {Dtype::float32, Dtype::bfloat16}) {
      const Tensor a = stored(cast(random_leaf({rows, terms}, 9), dtype)),
                   b = transpose(stored(cast(random_leaf({columns, terms}, 10), dtype)));
      const Tensor product = stored(matmul(a, b));
      for (size_t i = 0; i < std::size(epilogues); ++i) {
        const Immediates state = Generator::current().state();
        const Value expected = value_of(epilogues[i](product, with));
        for (int threads : {1, 2, 3}) {
          cpu::set_thread_count(threads);
          Generator::current().set_state(state);
          EXPECT_EQ(value_of(epilogues[i](matmul(a, b), with)), expected)
              << "epilogue " << i << " of " << rows << " x " << columns << ", threads: " << threads;
          Generator::current().set_state(state);
          const Tensor alone = epilogues[i](matmul(a, b), with);  // nobody holds the product
          EXPECT_EQ(value_of(alone), expected) << "epilogue " << i << " alone of " << rows << " x "
                                               << columns << ", threads: " << threads;
        }
        cpu::set_thread_count(0);
      }
    }
  }
}

// Small entries of a batch are finished together, and fewer in the end.
TEST(TileEpilogue, HasTheBitsOfStoredEntries) {
  install_fusing_evaluator();
  for (const auto& [batch, rows, terms, columns] :
       {std::array<int64_t, 4>{70, 4, 5, 6}, {33, 16, 20, 40}, {301, 1, 30, 7}, {9, 30, 700, 20}}) {
    const Tensor bias = random_leaf({columns}, 1), per_entry = random_leaf({batch, 1, 1}, 2);
    const Tensor residual = random_leaf({batch, rows, columns}, 3);
    for (Dtype dtype : {Dtype::float32, Dtype::float64, Dtype::bfloat16, Dtype::int32}) {
      SCOPED_TRACE(name_of(dtype) + (" " + std::to_string(batch)));
      const Tensor a = stored(cast(random_leaf({batch, rows, terms}, 4) * 9.0, dtype));
      const Tensor b = stored(cast(random_leaf({batch, terms, columns}, 5) * 9.0, dtype));
      const auto finished = [&](const Tensor& x) {
        return relu(add(mul(dropout(add(x, bias), 0.25, true), per_entry), residual));
      };
      const Immediates state = Generator::current().state();
      const auto value = [&](const Tensor& product) {
        Generator::current().set_state(state);
        return value_of(finished(product));
      };
      const Value expected = value(stored(matmul(a, b)));
      for (int threads : {1, 2, 3}) {
        cpu::set_thread_count(threads);
        EXPECT_EQ(value(matmul(a, b)), expected) << "threads: " << threads;
        const Tensor held = matmul(a, b);
        EXPECT_EQ(value(held), expected) << "held, threads: " << threads;
        Generator::current().set_state(state);
        const Tensor alone = finished(matmul(a, b));  // nobody holds the product
        EXPECT_EQ(value_of(alone), expected) << "alone, threads: " << threads;
      }
      cpu::set_thread_count(0);
    }
  }
}

// For images [batch, outputs, lines, positions].
struct ImageOperands {
  Tensor bias, per_image, per_position, residual, one;
  explicit ImageOperands(const Shape& y)
      : bias(random_leaf({y[1], 1, 1}, 1)),
        per_image(random_leaf({y[0], 1, 1, 1}, 2)),
        per_position(random_leaf({y[2], y[3]}, 3)),
        residual(random_leaf(y, 4)),
        one(random_leaf({}, 5)) {}
};

struct ImageEpilogue {
  bool transposed, abreast;  // whether it works on tiles of the transpose, and of images abreast
  Tensor (*make)(const Tensor& y, const ImageOperands& with);
  bool of_channels = false;  // whether it works on tiles of channels abreast: none does
};
constexpr ImageEpilogue image_epilogues[] = {
    {true, true, [](const Tensor& y, const ImageOperands& o) { return relu(add(y, o.bias)); }},
    {false, false,
     [](const Tensor& y, const ImageOperands& o) { return mul(add(y, o.bias), o.per_image); }},
    {true, false,
     [](const Tensor& y, const ImageOperands& o) { return mul(add(y, o.bias), o.per_position); }},
    {false, false,
     [](const Tensor& y, const ImageOperands& o) { return add(add(y, o.bias), o.residual); }},
    {true, true,
     [](const Tensor& y, const ImageOperands& o) { return sub(mul(y, o.one), o.bias); }},
};

// Whether the plan of such a tensor has a product whose epilogue is turned.
bool is_turned(const Tensor& y) {
  const Plan plan = planned(y);
  for (size_t g = 0; g < plan.groups.size(); ++g) {
    const auto* product = std::get_if<ContractGroup>(&plan.groups[g].work);
    if (product && cpu::prepare_contract_group(plan, *product, static_cast<int>(g)).turned) {
      return true;
    }
  }
  return false;
}

// `convolved` makes a convolution anew, of which each epilogue is turned if it is `turned`, on so
// many threads; where that is null, perhaps.
template <class Convolved>
void expect_bits_of_stored(const Convolved& convolved, bool ImageEpilogue::*turned, int threads) {
  const Tensor product = stored(convolved());
  const ImageOperands with(product.shape());
  for (size_t i = 0; i < std::size(image_epilogues); ++i) {
    SCOPED_TRACE("epilogue " + std::to_string(i));
    const ImageEpilogue& epilogue = image_epilogues[i];
    const Value expected = value_of(epilogue.make(product, with));
    for (int count : {1, 2, 3}) {
      cpu::set_thread_count(count);
      const Tensor alone = epilogue.make(convolved(), with);  // nobody holds the product
      EXPECT_EQ(value_of(alone), expected) << "threads: " << count;
      const Tensor held = convolved();
      EXPECT_EQ(value_of(epilogue.make(held, with)), expected) << "held, threads: " << count;
      EXPECT_EQ(value_of(held), value_of(product)) << "threads: " << count;
    }
    cpu::set_thread_count(threads);
    flush();
    const Tensor alone = epilogue.make(convolved(), with);
    if (turned) EXPECT_EQ(is_turned(alone), epilogue.*turned);
    cpu::set_thread_count(0);
  }
}

// With strides, windows are broadcast, and the tiles are those of the transpose.
TEST(TileEpilogue, HasTheBitsOfAStoredConvolution) {
  install_fusing_evaluator();
  const Tensor x = random_leaf({3, 3, 41, 47}, 9);
  for (int64_t outputs : {24, 64, 100, 160}) {
    const Tensor weight = random_leaf({outputs, 3, 5, 5}, 10);
    for (int64_t padding : {0, 1}) {
      SCOPED_TRACE(std::to_string(outputs) + " outputs, padding " + std::to_string(padding));
      const Dims around{padding, padding};
      const auto convolved = [&] {
        return convolution(x, weight, {}, {{2, 2}, around, {1, 1}, {}, 1, false});
      };
      expect_bits_of_stored(convolved, &ImageEpilogue::transposed, 2);  // more would cut outputs
    }
  }
}

// Of small images some lines of all that lie abreast are finished at a time, and fewer in the end.
TEST(TileEpilogue, HasTheBitsOfStoredImages) {
  if (cpu::abreast_lanes() < 4) GTEST_SKIP() << "for vectors";
  install_fusing_evaluator();
  const Tensor x = random_leaf({40, 3, 13, 11}, 9);  // of which some lanes have none
  for (int64_t outputs : {5, 12, 16}) {
    const Tensor weight = random_leaf({outputs, 3, 5, 5}, 10);
    for (int64_t padding : {0, 2}) {
      SCOPED_TRACE(std::to_string(outputs) + " outputs, padding " + std::to_string(padding));
      const Dims around{padding, padding};
      const auto convolved = [&] {
        return convolution(x, weight, {}, {{1, 1}, around, {1, 1}, {}, 1, false});
      };
      expect_bits_of_stored(convolved, &ImageEpilogue::abreast, 2);
    }
  }
}

// Each channel has its own bias. Those that lie abreast are finished many at a time, not turned;
// where they fill no vectors, some of several images lie in one.
TEST(TileEpilogue, HasTheBitsOfStoredChannels) {
  if (cpu::abreast_lanes() < 4) GTEST_SKIP() << "for vectors";
  install_fusing_evaluator();
  for (int64_t channels : {20, 48}) {
    for (int64_t kernel : {3, 5}) {
      SCOPED_TRACE(std::to_string(channels) + " channels, kernel " + std::to_string(kernel));
      const Tensor x = random_leaf({3, channels, 9, 10}, 9);
      const Tensor weight = random_leaf({channels, 1, kernel, kernel}, 10);
      const Dims around{kernel / 2, kernel / 2};
      const auto convolved = [&] {
        return convolution(x, weight, {}, {{1, 1}, around, {1, 1}, {}, channels, false});
      };
      expect_bits_of_stored(convolved, &ImageEpilogue::of_channels, 2);
    }
  }
}

}  // namespace
}  // namespace mt::testing
