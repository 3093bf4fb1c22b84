// SPDX-License-Identifier: Apache-2.0
// What attention's layers are made of is tested elsewhere; here, that they are made of it.
#include "nn/layers.h"
#include "nn/support.h"

namespace mt {
namespace {

using Vector = std::vector<double>;

class AttentionLayerTest : public LayerTest {
 protected:
  // [rows, columns]: whether the column is at or before the row.
  Tensor up_to(int64_t rows, int64_t columns) {
    Tensor i = reshape(arange(0, double(rows), 1, Dtype::int64, device_), {rows, 1});
    return greater_equal(i, arange(0, double(columns), 1, Dtype::int64, device_));
  }
};

TEST_F(AttentionLayerTest, SeesOthersThroughAMask) {
  Layer& layer = add_attention(*parameters_, "a", 4, 2, {}, true);
  Tensor query = random({2, 3, 4}, 1), key = random({2, 5, 4}, 2), value = random({2, 5, 4}, 3);
  Tensor w = of("a.in_proj_weight"), b = of("a.in_proj_bias");
  auto heads = [&](const Tensor& x, int part) {
    Tensor y = linear(x, slice(w, 0, 4 * part, 4, 1), slice(b, 0, 4 * part, 4, 1));
    return move_axis(reshape(y, {2, x.shape()[1], 2, 2}), 2, 1);
  };
  Tensor mask = up_to(3, 5);
  Tensor mixed = attention(heads(query, 0), heads(key, 1), heads(value, 2), mask, {});
  Tensor expected = linear(reshape(move_axis(mixed, 1, 2), {2, 3, 4}), of("a.out_proj.weight"),
                           of("a.out_proj.bias"));
  expect_near(layer.attend(query, key, value, mask), expected);
  expect_near(layer.attend(query, key, nullptr, nullptr), layer.attend(query, key, key, nullptr));
  expect_near(layer.attend(query, nullptr, nullptr, nullptr), layer.apply(query));
  expect_near(layer.attend(query, query, query, nullptr), layer.apply(query));
  Layer& plain = add_attention(*parameters_, "plain", 4, 2, {}, false);
  expect_near(plain.attend(query, query, query, nullptr), plain.apply(query));
  EXPECT_EQ(error_of([&] {
              layer.attend(query, random({2, 5, 3}, 1), nullptr, nullptr);
            }).code(),
            Code::shape);
  Layer& other = add_linear(*parameters_, "l", 4, 4, true);
  EXPECT_EQ(error_of([&] { other.attend(query, nullptr, nullptr, nullptr); }).code(),
            Code::invalid);
}

TEST_F(AttentionLayerTest, ABlockIsItsParts) {
  for (bool norm_first : {true, false}) {
    std::string name = norm_first ? "first" : "last";
    Layer& block = add_transformer(
        *parameters_, name, 4, 2,
        {.hidden = 6, .activation = "gelu(a) * 2", .norm_first = norm_first, .epsilon = 1e-3});
    auto own = [&](const char* part) { return of(name + "." + part); };
    EXPECT_EQ(own("linear1.weight").shape(), Shape({6, 4}));
    EXPECT_EQ(own("linear2.bias").shape(), Shape({4}));
    Layer& attention = add_attention(*parameters_, name + ".copy", 4, 2, {}, true);
    for (const char* part :
         {"in_proj_weight", "in_proj_bias", "out_proj.weight", "out_proj.bias"}) {
      parameters_->find(name + ".copy." + part)
          ->binding->bind(detach(own((std::string("self_attn.") + part).c_str())));
    }
    parameters_->find(name + ".norm1.bias")->binding->bind(random({4}, 8));
    auto norm = [&](const Tensor& x, const char* weight, const char* bias) {
      return layer_norm(x, 1, own(weight), own(bias), 1e-3);
    };
    auto norm1 = [&](const Tensor& x) { return norm(x, "norm1.weight", "norm1.bias"); };
    auto norm2 = [&](const Tensor& x) { return norm(x, "norm2.weight", "norm2.bias"); };
    auto feed = [&](const Tensor& x) {
      Tensor inner = gelu(linear(x, own("linear1.weight"), own("linear1.bias"))) * 2;
      return linear(inner, own("linear2.weight"), own("linear2.bias"));
    };
    Tensor x = random({2, 3, 4}, 1), mask = up_to(3, 3), expected;
    for (const Tensor& shown : {Tensor(), mask}) {
      if (norm_first) {
        Tensor y = x + attention.attend(norm1(x), nullptr, nullptr, shown);
        expected = y + feed(norm2(y));
      } else {
        Tensor y = norm1(x + attention.attend(x, nullptr, nullptr, shown));
        expected = norm2(y + feed(y));
      }
      expect_near(block.attend(x, nullptr, nullptr, shown), expected);
    }
    Layer& causal = add_transformer(*parameters_, name + ".causal", 4, 2, {.causal = true});
    expect_near(causal.apply(x), causal.attend(x, nullptr, nullptr, mask));
    EXPECT_EQ(error_of([&] { block.attend(x, x, nullptr, nullptr); }).code(), Code::invalid);
  }
}

TEST_F(AttentionLayerTest, GoesOnFromWhatItKept) {
  Layer& attention = add_attention(*parameters_, "a", 8, 2, {.causal = true}, true);
  Layer& first = add_transformer(*parameters_, "f", 8, 2, {.causal = true});
  Layer& last = add_transformer(*parameters_, "l", 8, 2, {.norm_first = false, .causal = true});
  auto places = [&](int64_t from, int64_t to) {
    return arange(double(from), double(to), 1, Dtype::int64, device_);
  };
  for (Layer* layer : {&attention, &first, &last}) {
    for (const Shape& lead : {Shape(), Shape({3}), Shape({2, 1})}) {
      Shape shape = lead;
      shape.push_back(12);
      shape.push_back(8);
      int rows = lead.rank();
      Tensor kept = layer->kept_zeros(lead, 14);
      EXPECT_EQ(kept.shape().back(), 4);
      // Twice: what the first time left beyond the places is not seen.
      for (uint64_t seed : {1, 2}) {
        Tensor x = random(shape, seed);
        std::vector<Tensor> parts;
        for (auto [from, to] : {std::pair{0, 9}, {9, 10}, {10, 11}, {11, 12}}) {
          Layer::Continued next =
              layer->proceed(slice(x, rows, from, to - from, 1), kept, places(from, to));
          parts.push_back(next.y);
          kept = next.kept;
        }
        expect_near(concat(parts, rows), layer->apply(x));
      }
    }
  }
}

TEST_F(AttentionLayerTest, RefusesToGoOnFromWhatDoesNotFit) {
  Layer& block = add_transformer(*parameters_, "b", 4, 2, {.causal = true});
  Layer& seeing = add_transformer(*parameters_, "s", 4, 2, {});
  Tensor x = random({3, 2, 4}, 1), kept = block.kept_zeros({3}, 5);
  auto places = [&](Vector values, Dtype dtype = Dtype::int32) {
    return from_doubles(values, {int64_t(values.size())}, dtype, device_);
  };
  auto refuse = [&](Code code, const char* part, Layer& layer, const Tensor& read,
                    const Tensor& from, const Tensor& at) {
    Error error = error_of([&] { layer.proceed(read, from, at); });
    EXPECT_EQ(error.code(), code);
    EXPECT_TRUE(contains(error.what(), part)) << error.what();
  };
  block.proceed(x, kept, places({3, 4}));
  refuse(Code::index, "5", block, x, kept, places({4, 5}));
  refuse(Code::index, "-1", block, x, kept, places({-1, 0}));
  refuse(Code::shape, "[2]", block, x, kept, places({4}));
  refuse(Code::dtype, "integers", block, x, kept, places({3, 4}, Dtype::float64));
  refuse(Code::shape, "[2,3,2,context,2]", block, x, block.kept_zeros({2}, 5), places({0, 1}));
  refuse(Code::shape, "[2,3,2,context,2]", block, x, places({1}), places({0, 1}));
  refuse(Code::shape, "[2,2,context,2]", block, random({2, 4}, 1), kept, places({0, 1}));
  refuse(Code::shape, "must be [5], got [4]", block, random({3, 2, 5}, 1), kept, places({0, 1}));
  refuse(Code::dtype, "int64", block, x, cast(kept, Dtype::int64), places({0, 1}));
  refuse(Code::invalid, "causal", seeing, x, kept, places({0, 1}));
  refuse(Code::invalid, "keeps nothing", add_linear(*parameters_, "i", 4, 4, true), x, kept,
         places({0, 1}));
  EXPECT_EQ(error_of([&] { seeing.kept_zeros({3}, 5); }).code(), Code::invalid);
  EXPECT_EQ(error_of([&] { block.kept_zeros({3}, 0); }).code(), Code::invalid);
  EXPECT_EQ(error_of([&] { block.kept_zeros({int64_t{1} << 61}, 5); }).code(), Code::shape);
}

TEST_F(AttentionLayerTest, ABlockDropsInTrainingAlone) {
  Layer& block = add_transformer(*parameters_, "b", 4, 2, {.dropout = 0.5});
  Tensor x = random({2, 3, 4}, 1);
  EXPECT_NE(to_doubles(block.apply(x)), to_doubles(block.apply(x)));
  parameters_->training.set(false);
  EXPECT_EQ(to_doubles(block.apply(x)), to_doubles(block.apply(x)));
}

TEST_F(AttentionLayerTest, ARefusedBlockLeavesNothing) {
  auto refuse = [&](const Transformer& how, Code code) {
    EXPECT_EQ(error_of([&] { add_transformer(*parameters_, "b", 4, 2, how); }).code(), code);
  };
  refuse({.hidden = -1}, Code::invalid);
  refuse({.dropout = 2}, Code::invalid);
  refuse({.activation = "no_such(a)"}, Code::invalid);
  refuse({.activation = "a + b"}, Code::invalid);
  refuse({.epsilon = -1}, Code::invalid);
  EXPECT_TRUE(parameters_->entries().empty());
  parameters_->create("b.norm2.bias", random({1}, 1), true);
  refuse({}, Code::invalid);
  EXPECT_EQ(parameters_->entries().size(), 1u);
}

}  // namespace
}  // namespace mt
