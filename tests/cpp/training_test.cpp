// SPDX-License-Identifier: Apache-2.0
// Parameters, layers, optimizers and data in C++.
#include "support.h"

namespace mtorch {
namespace {

TEST(Trace, ReplaysAStepOfTraining) {
  Parameters parameters;
  Layer hidden = parameters.linear("hidden", 2, 8), output = parameters.linear("output", 8, 1);
  Optimizer optimizer = Optimizer::adam(parameters, 0.05, {.beta1 = 0.8});
  int calls = 0;
  Trace step([&](const Tensors& in) -> Tensors {
    ++calls;
    Tensor loss = mse_loss(output(relu(hidden(in[0]))), in[1]);
    loss.backward();
    optimizer.step();
    parameters.zero_grad();
    return {loss};
  });
  seed(1);
  Tensor x = uniform({32, 2}, -1, 1), y = sum(x, {1}, true);
  double first = step({x, y})[0].item(), last = 0;
  for (int i = 0; i < 200; ++i) last = step({x, y})[0].item();
  EXPECT_LT(last, first / 20);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(step.count(), 1u);
  EXPECT_EQ(optimizer.steps(), 201);
  EXPECT_FALSE(step.explain().empty());
  Parameters state = optimizer.state();
  EXPECT_EQ(state["step"].item(), 201);
  std::vector<float> mean = numbers(state["mean.output.weight"]);
  step({x, y});
  EXPECT_NE(numbers(optimizer.state()["mean.output.weight"]), mean);
  optimizer.set_state(state);
  EXPECT_EQ(optimizer.steps(), 201);
  EXPECT_EQ(numbers(optimizer.state()["mean.output.weight"]), mean);
  EXPECT_THROW(optimizer.set_state(parameters), Error);
  Tensor weight = parameters["hidden.weight"];
  Tensor mine = ones({8, 2});
  parameters.share("hidden.weight", mine);
  EXPECT_EQ(parameters["hidden.weight"].get(), mine.get());
  parameters.share("hidden.weight", weight);
  parameters.to(f64);
  parameters.to("cpu:reference");
  EXPECT_EQ(weight.dtype(), f64);
  EXPECT_EQ(weight.device(), "cpu:reference");
  parameters.to(f32, "cpu");
  EXPECT_EQ(step({x, y})[0].dtype(), f32);
}

TEST(Parameters, AreNamedByStrings) {
  Parameters p;
  std::vector<Layer> layers;
  for (int i = 0; i < 2; ++i) layers.push_back(p.linear("layer" + std::to_string(i), 2, 2));
  std::string found;
  for (const auto& [name, tensor] : p.tensors()) {
    found += name + " ";
    tensor.set_requires_grad(false);
  }
  EXPECT_EQ(found, "layer0.weight layer0.bias layer1.weight layer1.bias ");
  EXPECT_FALSE(p[std::string("layer1.bias")].requires_grad());
  EXPECT_TRUE(p.has(p.name(0)));
}

TEST(Optimizer, HasGroups) {
  Parameters some, others;
  Tensor a = ones({2}), b = ones({2});
  some.add("a", a);
  others.add("b", b);
  Optimizer optimizer = Optimizer::sgd(some, 0.5, {.momentum = 0.9});
  {
    Optimizer group = Optimizer::sgd(others, 0.25, {.weight_decay = 0.5});
    optimizer.add(group);
    EXPECT_THROW(optimizer.add(group), Error);
    group.set_learning_rate(0.75);
    optimizer.set_learning_rate(0);
    optimizer.set_learning_rate(0.25);
    EXPECT_EQ(group.learning_rate(), 0.375);
    group.set_learning_rate(0.125);
  }
  sum(a + b).backward();
  optimizer.step();
  EXPECT_EQ(numbers(a), std::vector<float>({0.75, 0.75}));
  EXPECT_EQ(numbers(b), std::vector<float>({1 - 0.125 * 1.5, 1 - 0.125 * 1.5}));
  EXPECT_TRUE(optimizer.state().has("proportion.1"));
}

TEST(Schedule, IsAFunctionOfTheStep) {
  EXPECT_EQ(schedule_step(1, 4, 2, 0.5), 0.25);
  EXPECT_EQ(schedule_warmup(1, 0, 4), 0.25);
  EXPECT_EQ(schedule_cosine(2, 10, 10, 0.5), 0.5);
  EXPECT_EQ(schedule_one_cycle(1, 0, 10), 0.04);
}

TEST(Loader, IsARangeOfBatches) {
  Tensor x = arange(0, 10), y = 2 * x;
  for (int64_t prefetch : {0, 2}) {
    Loader loader({x, y}, 4, {.shuffle = true, .seed = 3, .prefetch = prefetch});
    EXPECT_EQ(loader.batches(), 3);
    double sum = 0;
    int64_t rows = 0;
    for (int epoch = 0; epoch < 2; ++epoch) {
      for (const Tensors& batch : loader) {
        EXPECT_EQ(mean(abs(2 * batch[0] - batch[1])).item(), 0);
        sum += mtorch::sum(batch[0]).item();
        rows += batch[0].dim(0);
      }
    }
    EXPECT_EQ(rows, 20);
    EXPECT_EQ(sum, 90);
    EXPECT_EQ(loader.epoch(), 2);
    Tensors first = loader.next();
    loader.seek(2);
    EXPECT_EQ(mean(abs(loader.next()[0] - first[0])).item(), 0);
  }
  EXPECT_THROW(Loader({x, zeros({3})}, 4), Error);
}

TEST(Sequential, AppliesItsPartsInOrder) {
  Parameters p;
  Layer first = p.linear("first", 3, 4), last = p.linear("last", 4, 2);
  Sequential net(
      first, relu, [](const Tensor& x) { return 2 * x; }, last);
  Tensor x = ones({5, 3});
  EXPECT_EQ(max(abs(net(x) - last(2 * relu(first(x))))).item(), 0);
}

TEST(Leaf, StaysOneWhenItIsChangedInPlace) {
  Parameters p;
  Layer layer = p.linear("a", 2, 1);
  Tensor w = p["a.weight"], before = detach(w);
  for (int turn = 0; turn < 3; ++turn) {
    p.zero_grad();
    sum(layer(ones({1, 2}))).backward();
    EXPECT_THROW(w -= 0.1 * w.gradient(), Error);
    NoGrad off;
    w -= 0.1 * w.gradient();
  }
  EXPECT_TRUE(w.requires_grad());
  EXPECT_LT(max(abs(p["a.weight"] - (before - 0.3f))).item(), 1e-6);
  {
    NoGrad off;
    w += 1, w *= 4, w /= 2;
  }
  EXPECT_LT(max(abs(p["a.weight"] - 2 * (before + 0.7f))).item(), 1e-6);
  Tensor x = ones({2}), same = x;
  x -= 1;
  EXPECT_EQ(sum(same).item(), 2);
}

TEST(Layer, GoesOnFromWhatItKept) {
  Parameters p;
  Layer block = p.transformer("block", 8, 2, {.causal = true});
  NoGrad off;
  Tensor x = normal({5, 8}), all = block(x), kept = block.kept_zeros({}, 5);
  for (int64_t i = 0; i < 5; ++i) {
    Tensor row = block(slice(x, 0, i, i + 1), kept, tensor({i}));
    EXPECT_LT(max(abs(row - slice(all, 0, i, i + 1))).item(), 1e-5);
  }
  EXPECT_THROW(block(slice(x, 0, 0, 1), kept, tensor({5})), Error);
}

TEST(Layer, KeepsItsCollectionAlive) {
  Layer layer;
  {
    Parameters parameters(f64);
    layer = parameters.linear("only", 3, 2);
    EXPECT_EQ(parameters.size(), 2u);
    EXPECT_EQ(parameters.name(0), "only.weight");
    EXPECT_FALSE(parameters.is_buffer(0));
    EXPECT_TRUE(parameters.training());
    parameters[0].set_gradient(ones({2, 3}, f64));
    EXPECT_EQ(sum(parameters[0].gradient()).item(), 6);
    parameters[0].set_gradient({});
    EXPECT_FALSE(parameters[0].gradient().has_value());
    parameters[0].set_requires_grad(false);
    EXPECT_FALSE(parameters[0].requires_grad());
    EXPECT_EQ(parameters["only.bias"].dtype(), f64);
    EXPECT_THROW(parameters["no such"], Error);
    EXPECT_THROW(parameters.linear("only", 3, 2), Error);
  }
  EXPECT_EQ(layer(ones({5, 3}, f64)).shape(), (std::vector<int64_t>{5, 2}));
  Parameters p;
  Tensor steps = ones({2, 5, 3});
  EXPECT_EQ(p.gru("gru", 3, 4)(steps).dim(2), 4);
  EXPECT_EQ(p.lstm("lstm", 3, 4, 2)(steps).dim(1), 5);
  Tensors states = p.lstm("more", 3, 4, 2).run(steps);
  EXPECT_EQ(states[2].shape(), (std::vector<int64_t>{2, 2, 4}));
  Tensors no_cells = p.gru("without", 3, 4).run(steps);
  EXPECT_EQ(no_cells[1].shape(), (std::vector<int64_t>{1, 2, 4}));
  EXPECT_FALSE(no_cells[2].has_value());
  Layer block = p.transformer("block", 4, 2, {.activation = "silu(a)", .causal = true});
  Tensor x = ones({2, 3, 4}), seen = block.attend(x, {}, {}, ones({3, 3}, mtorch::boolean));
  EXPECT_LT(max(abs(block(x) - seen)).item(), 1e-5);
  EXPECT_THROW(p.linear("linear", 4, 4).attend(x, x), Error);
  auto [all, last] = rnn(steps, {}, ones({4, 3}), ones({4, 4}));
  EXPECT_EQ(all.shape(), (std::vector<int64_t>{2, 5, 4}));
  EXPECT_EQ(last.shape(), (std::vector<int64_t>{2, 4}));
  Tensors parts = lstm(steps, {}, {}, ones({16, 3}), ones({16, 4}));
  EXPECT_EQ(parts[2].shape(), (std::vector<int64_t>{2, 4}));
}

TEST(Parameters, AreMadeOfTensorsByName) {
  std::string path = testing::TempDir() + "mtorch_hpp_both.npz";
  save_npz({{"a", ones({2})}, {"b", arange(0, 3)}}, path);
  Parameters both = load_npz(path);
  std::remove(path.c_str());
  EXPECT_EQ(both.size(), 2u);
  EXPECT_EQ(numbers(both["b"]), (std::vector<float>{0, 1, 2}));
  EXPECT_TRUE(both.is_buffer(0));
  EXPECT_THROW((Parameters{{"a", ones({1})}, {"a", ones({1})}}), Error);
  EXPECT_EQ(Parameters().size() + Parameters(f64).size(), 0u);
}

}  // namespace
}  // namespace mtorch
