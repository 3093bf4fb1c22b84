// SPDX-License-Identifier: Apache-2.0
// What the C++ headers add to the C interface: owners, exceptions, operators, callbacks.
#include <gtest/gtest.h>

#include <cmath>
#include <mtorch/mtorch.hpp>
#include <numeric>
#include <sstream>

namespace mtorch {
namespace {

std::vector<float> numbers(const Tensor& x) { return x.to_vector<float>(); }

// How many bytes of tensors there are now.
int64_t used() {
  mt_memory memory = MT_MEMORY_INIT;
  check(mt_memory_read("cpu", &memory));
  return memory.used;
}

TEST(Tensor, IsMadeFromNumbersAndRead) {
  std::vector<double> values = {1, 2, 3, 4, 5, 6};
  Tensor x = tensor(values, {2, 3});
  EXPECT_EQ(x.shape(), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(x.dtype(), f64);
  EXPECT_EQ(x.dim(-1), 3);
  EXPECT_EQ(x.device(), "cpu");
  EXPECT_EQ(x.to_vector<double>(), values);
  EXPECT_EQ(x.to_vector<int32_t>(), (std::vector<int32_t>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(sum(x).item(), 21);
  EXPECT_EQ(sum(tensor({1, 2, 3})).item<int64_t>(), 6);
  auto mapped = x.map<double>();
  EXPECT_EQ(std::accumulate(mapped.begin(), mapped.end(), 0.0), 21);
  EXPECT_THROW(x.map<float>(), Error);
  std::ostringstream text;
  text << tensor({1.5f});
  EXPECT_EQ(text.str(), tensor({1.5f}).to_string());
}

TEST(Tensor, OperatorsTakeTensorsAndNumbers) {
  Tensor x = tensor({1.0f, 2.0f});
  EXPECT_EQ(numbers(2 * x + 1), (std::vector<float>{3, 5}));
  EXPECT_EQ(numbers(1 - x / 2.0), (std::vector<float>{0.5, 0}));
  EXPECT_EQ(numbers(-x), (std::vector<float>{-1, -2}));
  EXPECT_EQ((x > 1).dtype(), boolean);
  EXPECT_EQ((tensor({3, 4}) * 2).dtype(), i32);
  Tensor y = x;
  y += 1;
  EXPECT_EQ(numbers(x), (std::vector<float>{1, 2})) << "y became another tensor";
  y = x;
  y.assign(x * 10);
  EXPECT_EQ(numbers(x), (std::vector<float>{10, 20})) << "y shares the handle";
}

TEST(Tensor, OptionalOperandsAreLeftOut) {
  Tensor x = tensor({-2.0f, 0.5f, 2.0f});
  EXPECT_EQ(numbers(clip(x, {}, 1)), (std::vector<float>{-2, 0.5, 1}));
  Tensor image = ones({1, 1, 3, 3}), kernel = ones({1, 1, 3, 3});
  EXPECT_EQ(sum(conv2d(image, kernel, {}, {.padding = {1, 1}})).item(), 49);
  EXPECT_EQ(sum(ones({2, 3}), {-1}, true).shape(), (std::vector<int64_t>{2, 1}));
  EXPECT_EQ(var(tensor({1.0, 3.0}), {}, 1).item(), 2);
}

TEST(Tensor, IsIndexed) {
  Tensor x = reshape(arange(0, 12), {3, 4});
  EXPECT_EQ(numbers(index(x, {at(-1), range(0, open_end, 2)})), (std::vector<float>{8, 10}));
  Tensor rows = tensor<int64_t>({2, 0});
  EXPECT_EQ(numbers(index(x, {by(rows), at(0)})), (std::vector<float>{8, 0}));
  index_put(x, {at(0)}, -1);
  EXPECT_EQ(sum(x).item(), 66 - 6 - 4);
  auto [values, places] = topk(tensor({3.0f, 9.0f, 4.0f}), 2);
  EXPECT_EQ(numbers(values), (std::vector<float>{9, 4}));
  EXPECT_EQ(places.to_vector<int64_t>(), (std::vector<int64_t>{1, 2}));
  Tensors parts = split(x, {1, 2});
  EXPECT_EQ(parts[1].dim(0), 2);
  EXPECT_EQ(numbers(unique_all(tensor({2.0f, 1.0f, 2.0f})).values), (std::vector<float>{1, 2}));
}

TEST(Tensor, HasBracketsAndComparisons) {
  Tensor x = reshape(arange(0, 6), {2, 3});
  EXPECT_EQ(x[1][-1].item(), 5);
  EXPECT_EQ(numbers(x[{range(), at(0)}]), (std::vector<float>{0, 3}));
  EXPECT_THROW(x[2], Error);
  EXPECT_EQ(sum(x == 4).item(), 1);
  EXPECT_EQ(sum(x != 4).item(), 5);
  EXPECT_TRUE(any(x > 4).item<bool>());
  static_assert(!std::is_constructible_v<bool, Tensor>);   // if (x == y) says nothing
  static_assert(!std::is_assignable_v<Tensor&&, Tensor>);  // x[0] = y is lost
  static_assert(std::is_assignable_v<Tensor&, double>);
  EXPECT_TRUE(x.has_value());
  EXPECT_FALSE(Tensor().has_value());
  EXPECT_EQ(tensor({1, 2, 3, 4}, {2, 2}).dim(1), 2);
  EXPECT_THROW(tensor({1, 2, 3}, {2, 2}), Error);
}

TEST(Device, IsAStringOrNothing) {
  Tensor x = ones({2}, f32, "cpu:reference"), y = zeros({2}, f32, x.device());
  EXPECT_EQ((x + y).device(), "cpu:reference");
  EXPECT_EQ(zeros({2}, f32, nullptr).device(), default_device());
  EXPECT_EQ(to_device(x, default_device()).device(), default_device());
  EXPECT_THROW(zeros({2}, f32, "nowhere"), Error);
  LoaderOptions options{.device = x.device()};  // which keeps the name
  EXPECT_EQ(Loader({y}, 1, options).next()[0].device(), "cpu:reference");
}

TEST(Device, IsMadeOfAnyTextAndComparedAsText) {
  char text[] = "cpu";
  const char *name = text, *none = nullptr;
  Device a("cpu"), b{"cpu"}, c(name), d(text), e = std::string(text), nothing(none);
  for (const Device& other : {b, c, d, e, Device(a)}) EXPECT_TRUE(a == other);
  EXPECT_TRUE(a == "cpu" && "cpu" == a && a == name && a == std::string(text));
  EXPECT_TRUE(a != Device("cpu:reference") && a != "cpu:reference" && a != nullptr);
  EXPECT_TRUE(nothing == Device() && nothing == none && nothing == nullptr && nothing != a);
}

TEST(Tensor, BracesAfterItsElementsAreAShape) {
  EXPECT_EQ(tensor({1.0f}, {}).ndim(), 0u);
  EXPECT_EQ(tensor({1.0f}, {1, 1}).ndim(), 2u);
  EXPECT_THROW(tensor({1.0f}, {0}), Error);
  EXPECT_THROW(tensor({1.0f, 2.0f}, {}), Error);
  std::string name = "cpu:reference";
  Device device(name);
  EXPECT_EQ(tensor({1.0f}, "cpu:reference").device(), name);
  EXPECT_EQ(tensor({1.0f}, name).device(), name);
  EXPECT_EQ(tensor({1.0f}, name.c_str()).device(), name);
  EXPECT_EQ(tensor({1.0f}, device).device(), name);
  EXPECT_EQ(tensor<int64_t>({1, 2}, device).dtype(), i64);
  EXPECT_EQ(tensor({1.0f}, {}, device).device(), name);
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

TEST(Tensor, IsIndexedByAListMadeAtRunTime) {
  Tensor x = reshape(arange(0, 24), {2, 3, 4});
  for (int64_t axis = 0; axis < 3; ++axis) {
    std::vector<Item> items(static_cast<size_t>(axis), range());
    items.push_back(at(1));
    EXPECT_EQ(numbers(index(x, items)), numbers(select(x, axis, 1)));
    Tensor y = copy(x);
    index_put(y, items, 0);
    EXPECT_EQ(sum(select(y, axis, 1)).item(), 0);
  }
}

TEST(Tensor, LooksAtMemoryThatItsOwnerKeeps) {
  auto memory = std::make_shared<std::vector<float>>(std::vector<float>{1, 2, 3});
  std::weak_ptr<std::vector<float>> watched = memory;
  {
    Tensor x = wrap(std::span<const float>(*memory), {3}, memory);
    memory.reset();
    EXPECT_FALSE(watched.expired());
    EXPECT_EQ(sum(x).item(), 6);
  }
  EXPECT_TRUE(watched.expired());
}

TEST(Tensor, NothingIsLeftBehind) {
  int64_t before = used();
  {
    Tensor x = ones({100, 100}), y = x;
    for (int i = 0; i < 10; ++i) y = matmul(x, y) / 100;
    eval({y});
    EXPECT_GT(used(), before);
    mt_scope* scope = mt_scope_begin();  // what is owned here is not the scope's
    y = x + y;
    mt_scope_end(scope);
    EXPECT_NEAR(mean(y).item(), 2, 1e-6);
  }
  EXPECT_EQ(used(), before);
}

TEST(Error, IsThrownWithTheMessageAndCleared) {
  Tensor a = zeros({2, 3}), b = zeros({4, 5});
  try {
    matmul(a, b);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), MT_ESHAPE);
    EXPECT_NE(std::string(error.what()).find("[2,3]"), std::string::npos) << error.what();
  }
  EXPECT_EQ(mt_error(), MT_OK);
  EXPECT_THROW(zeros({2}).dim(7), Error);
  EXPECT_THROW(tensor({1.0f, 2.0f}).item(), Error);
  EXPECT_THROW(tensor(std::vector<float>{1, 2}, {3}), Error);
  EXPECT_THROW(neg({}), Error) << "an empty tensor";
  EXPECT_THROW(zeros(std::vector<int64_t>(20, 1)), Error);
  EXPECT_THROW(load_npy("/nowhere"), Error);
  EXPECT_EQ(mt_error(), MT_OK);
}

TEST(Gradient, OfLeavesAndAsAFunction) {
  Tensor x = tensor({1.0, 2.0}).require_grad();
  EXPECT_FALSE(x.gradient().has_value());
  sum(square(x)).backward();
  EXPECT_EQ(x.gradient().to_vector<double>(), (std::vector<double>{2, 4}));
  x.zero_grad();
  EXPECT_FALSE(x.gradient().has_value());
  Tensor y = sum(pow(x, 3));
  Tensor first = grad({y}, {x})[0];
  EXPECT_EQ(grad({sum(first)}, {x})[0].to_vector<double>(), (std::vector<double>{6, 12}));
  {
    NoGrad none;
    EXPECT_FALSE(square(x).requires_grad());
  }
  EXPECT_TRUE(square(x).requires_grad());
  gradient_check([](const Tensors& in) -> Tensors { return {tanh(in[0])}; }, {detach(x)}, 2);
  Tensor through = checkpoint([](const Tensors& in) -> Tensors { return {exp(in[0])}; }, {x})[0];
  EXPECT_NEAR(grad({sum(through)}, {x})[0].to_vector<double>()[1], std::exp(2.0), 1e-12);
}

TEST(Callback, ItsExceptionComesOutAsItself) {
  struct Mine {};
  Function fails = [](const Tensors&) -> Tensors { throw Mine(); };
  Tensor x = ones({2}).require_grad();
  EXPECT_THROW(checkpoint(fails, {x}), Mine);
  EXPECT_THROW(Trace{fails}({x}), Mine);
  EXPECT_THROW(custom({"mine", fails}, {x}), Mine);
  EXPECT_THROW(checkpoint([](const Tensors&) -> Tensors { return {}; }, {x}), Error);
  EXPECT_THROW(
      checkpoint([](const Tensors& in) -> Tensors { return {matmul(in[0], ones({3}))}; }, {x}),
      Error);
  EXPECT_EQ(mt_error(), MT_OK);
}

TEST(Custom, HasItsOwnGradient) {
  auto watched = std::make_shared<int>(0);
  std::weak_ptr<int> alive = watched;
  Tensor x = tensor({3.0}).require_grad();
  {
    Operator twice{"twice", [watched](const Tensors& in) -> Tensors { return {in[0] * 2}; },
                   [](const Tensors&, const Tensors&, const Tensors& dy) -> Tensors {
                     return {dy[0] * 7};  // wrong, to tell it from 2
                   }};
    Tensor y = custom(twice, {x})[0];
    EXPECT_EQ(y.item(), 6);
    y.backward();
  }
  watched.reset();
  EXPECT_EQ(x.gradient().item(), 7);
  EXPECT_TRUE(alive.expired());
}

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

TEST(Profile, CountsWhatRuns) {
  Profile profile;
  sum(matmul(ones({2, 3}), ones({3, 4}))).item();
  profile.stop();
  EXPECT_NE(profile.text().find("contraction 2 x 4 x 3"), std::string::npos) << profile.text();
  EXPECT_THROW(profile.save("/no/such/folder/x.json"), Error);
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
    optimizer.set_learning_rate(0.25);
    EXPECT_EQ(group.learning_rate(), 0.125);
  }
  sum(a + b).backward();
  optimizer.step();
  EXPECT_EQ(numbers(a), std::vector<float>({0.75, 0.75}));
  EXPECT_EQ(numbers(b), std::vector<float>({1 - 0.125 * 1.5, 1 - 0.125 * 1.5}));
  EXPECT_TRUE(optimizer.state().has("learning_rate.1"));
}

TEST(Tape, CanBeReadAndDifferentiated) {
  Tensor x = tensor({2.0f});
  Tape tape;
  Tensor y = exp(x * x);
  tape.end();
  EXPECT_EQ(tape.operator_name(tape.length() - 1), "exp");
  EXPECT_NE(tape.to_string().find("exp"), std::string::npos);
  EXPECT_NEAR(tape.gradient(y, {x})[0].item(), 4 * std::exp(4.0), 1e-3);
}

TEST(Linalg, MultipliesBack) {
  Tensor x = reshape(tensor({2.0f, 1.0f, 1.0f, 3.0f}), {2, 2});
  auto near = [&](const Tensor& y) { return max(abs(y - x)).item() < 1e-5; };
  auto [q, r] = qr(x);
  EXPECT_TRUE(near(matmul(q, r)));
  auto [u, s, vh] = svd(x, true);
  EXPECT_TRUE(near(matmul(u * s, vh)));
  auto [values, vectors] = eigh(x);
  EXPECT_TRUE(near(matmul(vectors * values, matrix_transpose(vectors))));
  Tensor l = cholesky(x);
  EXPECT_TRUE(near(matmul(l, matrix_transpose(l))));
  EXPECT_TRUE(near(inv(pinv(x))));
  auto [sign, logabsdet] = slogdet(x);
  EXPECT_NEAR((sign * exp(logabsdet)).item(), det(x).item(), 1e-4);
  EXPECT_EQ(matrix_rank(x, 0.6).item(), 1);
  EXPECT_NEAR(matrix_norm(x, "inf").item(), 4, 1e-6);
  EXPECT_THROW(solve(zeros({2, 2}), ones({2})), Error);
}

TEST(Device, IsDescribedAndChosen) {
  std::vector<std::string> all = devices();
  EXPECT_NE(std::find(all.begin(), all.end(), "cpu:reference"), all.end());
  EXPECT_FALSE(device_description("cpu").empty());
  EXPECT_TRUE(device_available("cpu"));
  EXPECT_FALSE(device_available("none"));
  std::string before = default_device();
  set_default_device("cpu:reference");
  EXPECT_EQ(ones({2}).device(), "cpu:reference");
  set_default_device(before);
  EXPECT_THROW(set_threads(0), Error);
  int64_t used = memory("cpu").used;
  Tensor x = ones({1000}) + 1;
  eval({x});
  EXPECT_GE(memory("cpu").used, used + 4000);
}

TEST(Generator, GoesOnFromItsState) {
  Generator generator(7);
  generator.use();
  Tensor first = uniform({3});
  auto [key, counter] = generator.state();
  EXPECT_EQ(key, 7u);
  double second = uniform({}).item();
  generator.set_state(key, counter);
  EXPECT_EQ(uniform({}).item(), second);
  Generator::use_own();
  Generator(7).use();
  EXPECT_EQ(max(abs(uniform({3}) - first)).item(), 0);
  Generator::use_own();
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

TEST(Kernel, RunsForEachCell) {
  Kernel scale({.name = "scale",
                .cell = [](const mt_cell& at, const void* const* in, void* const* out,
                           const double* numbers) {
                  int64_t i = at.block[0] * at.block_size[0] + at.thread[0];
                  if (i >= 10) return;
                  float x = static_cast<const float*>(in[0])[i];
                  if (x < 0) throw std::runtime_error("a negative number");
                  static_cast<float*>(out[0])[i] = x * static_cast<float>(numbers[0]);
                }});
  Tensor x = arange(0, 10);
  Tensors y = scale({x}, {.grid = {3}, .block = {4}}, {{{2, 5}, f32}}, {0.5});
  EXPECT_EQ(y[0].shape(), (std::vector<int64_t>{2, 5}));
  EXPECT_EQ(sum(y[0]).item(), 22.5);
  try {
    scale({x - 5}, {.grid = {3}, .block = {4}}, {{{10}, f32}}, {0.5});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), MT_EUSER);
    EXPECT_STREQ(error.what(), "scale: block (0, 0, 0), thread (0, 0, 0): a negative number");
  }
  EXPECT_THROW(Kernel({.name = "nothing"}), Error);
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

}  // namespace
}  // namespace mtorch
