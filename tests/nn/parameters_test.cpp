// SPDX-License-Identifier: Apache-2.0
#include "nn/parameters.h"

#include "io/safetensors.h"
#include "nn/clip.h"
#include "nn/support.h"

namespace mt {
namespace {

using ParametersTest = FileTest;

Ref<Parameters> example(Dtype dtype = Dtype::float32) {
  Ref<Parameters> parameters = make_parameters(dtype);
  Device& device = parameters->device;
  parameters->create("layer.weight", from_doubles(numbers(6, 1), {2, 3}, dtype, device), false);
  parameters->create("layer.bias", from_doubles(numbers(2, 2), {2}, dtype, device), false);
  parameters->create("count", full({}, 3, Dtype::int64, device), true);
  return parameters;
}

TEST_F(ParametersTest, KeepOrderAndNames) {
  Ref<Parameters> parameters = example();
  ASSERT_EQ(parameters->entries().size(), 3u);
  EXPECT_EQ(parameters->entries()[1].name, "layer.bias");
  EXPECT_FALSE(parameters->entries()[1].is_buffer);
  EXPECT_TRUE(parameters->entries()[2].is_buffer);
  EXPECT_TRUE(parameters->find("layer.bias")->binding->requires_gradient());
  EXPECT_FALSE(parameters->find("count")->binding->requires_gradient());
  EXPECT_EQ(parameters->find("other"), nullptr);
  Tensor x = full({}, 0, Dtype::float32, parameters->device);
  EXPECT_EQ(error_of([&] { parameters->create("", x, false); }).code(), Code::invalid);
  EXPECT_EQ(error_of([&] { parameters->create("count", x, false); }).code(), Code::invalid);
  EXPECT_EQ(parameters->entries().size(), 3u);
}

TEST_F(ParametersTest, ZeroGradientsRemovesThem) {
  Ref<Parameters> parameters = example();
  Binding& bias = *parameters->find("layer.bias")->binding;
  bias.set_gradient(full({2}, 1, Dtype::float32, parameters->device));
  parameters->zero_gradients();
  EXPECT_FALSE(bias.gradient());
}

// A binding of what stands at `place`.
class PlacedBinding final : public PlainBinding {
 public:
  PlacedBinding(Tensor value, const void* place) : PlainBinding(std::move(value)), place_(place) {}
  const void* place() const override { return place_; }

 private:
  const void* place_;
};

TEST_F(ParametersTest, OnlyWhatAParameterHasIsARepeat) {
  Ref<Parameters> parameters = make_parameters();
  Device& device = parameters->device;
  int place = 0;
  auto add = [&](const char* name, bool is_buffer) {
    Tensor value = full({2}, 1, Dtype::float32, device);
    parameters->add(name, std::make_unique<PlacedBinding>(value, &place), is_buffer);
  };
  add("buffer", true);
  add("first", false);
  add("second", false);
  auto expect_counted_once = [&] {
    EXPECT_FALSE(parameters->find("first")->repeats);
    EXPECT_TRUE(parameters->find("second")->repeats);
  };
  expect_counted_once();
  parameters->find_repeats();
  expect_counted_once();
  for (const char* name : {"first", "second"}) {
    Tensor gradient = from_doubles({3, 4}, {2}, Dtype::float32, device);
    parameters->find(name)->binding->set_gradient(gradient);
  }
  EXPECT_EQ(to_doubles(clip_gradient_norm(*parameters, 100))[0], 5);
}

TEST_F(ParametersTest, SaveAndLoad) {
  Ref<Parameters> saved = example(), loaded = example();
  saved->find("layer.bias")
      ->binding->bind(from_doubles({5, 6}, {2}, Dtype::float32, saved->device));
  saved->save(path("x").c_str());
  loaded->load(path("x").c_str());
  for (size_t i = 0; i < 3; ++i) {
    const Binding& binding = *loaded->entries()[i].binding;
    EXPECT_EQ(bytes_of(binding.value()), bytes_of(saved->entries()[i].binding->value()));
    EXPECT_EQ(binding.requires_gradient(), i < 2);
    EXPECT_EQ(binding.value().requires_gradient(), i < 2);
  }
}

TEST_F(ParametersTest, LoadingWhatDoesNotFitChangesNothing) {
  Ref<Parameters> parameters = example();
  std::string before = bytes_of(parameters->entries()[0].binding->value());
  Device& device = parameters->device;
  Tensor weight = full({2, 3}, 9, Dtype::float32, device);
  Tensor bias = full({2}, 9, Dtype::float32, device);
  Tensor count = full({}, 9, Dtype::int64, device);
  auto expect = [&](const std::vector<NamedTensor>& tensors, Code code, const char* fault) {
    save_safetensors(tensors, {}, path("x").c_str());
    Error found = error_of([&] { parameters->load(path("x").c_str()); });
    EXPECT_EQ(found.code(), code) << found.what();
    EXPECT_TRUE(contains(found.what(), fault)) << found.what();
    EXPECT_EQ(bytes_of(parameters->entries()[0].binding->value()), before);
  };
  expect({{"layer.weight", weight}, {"layer.bias", bias}}, Code::io, "has no \"count\"");
  expect({{"layer.weight", weight}, {"layer.bias", bias}, {"count", count}, {"x", count}}, Code::io,
         "\"x\"");
  expect({{"layer.weight", weight}, {"layer.bias", weight}, {"count", count}}, Code::shape,
         "[2,3]");
  expect({{"layer.weight", weight}, {"layer.bias", bias}, {"count", cast(count, Dtype::int32)}},
         Code::dtype, "int32");
  EXPECT_EQ(error_of([&] { parameters->load(path("none").c_str()); }).code(), Code::io);
}

TEST_F(ParametersTest, BatchesThatPyTorchCountsArePassedOver) {
  Ref<Parameters> saved = example(), loaded = example();
  Device& device = saved->device;
  saved->create("norm.num_batches_tracked", full({}, 3, Dtype::int64, device), true);
  saved->save(path("x").c_str());
  loaded->find("layer.bias")->binding->bind(full({2}, 0, Dtype::float32, device));
  loaded->load(path("x").c_str());
  EXPECT_EQ(to_doubles(loaded->find("layer.bias")->binding->value()), numbers(2, 2));
  saved->create("other", full({}, 3, Dtype::int64, device), true);
  saved->save(path("x").c_str());
  EXPECT_EQ(error_of([&] { loaded->load(path("x").c_str()); }).code(), Code::io);
}

TEST_F(ParametersTest, AreConvertedWithTheirGradients) {
  Ref<Parameters> parameters = make_parameters();
  Device &cpu = parameters->device, &reference = find_device("cpu:reference");
  Binding& w = parameters->create("w", full({2}, 0.1, Dtype::float32, cpu) * 3.0, false);
  Binding& i = parameters->create("i", full({2}, 7, Dtype::int32, cpu), true);
  w.set_gradient(full({2}, 0.3, Dtype::float32, cpu) * 2.0);
  Dtype narrow = Dtype::bfloat16;
  parameters->convert(&narrow, &reference);
  EXPECT_EQ(w.value().dtype(), narrow);
  EXPECT_EQ(&w.value().device(), &reference);
  EXPECT_TRUE(w.value().requires_gradient() && w.requires_gradient());
  EXPECT_EQ(w.gradient().dtype(), narrow);
  EXPECT_EQ(&w.gradient().device(), &reference);
  EXPECT_NEAR(to_doubles(w.value())[0], 0.3, 0x1p-9);
  EXPECT_NEAR(to_doubles(w.gradient())[1], 0.6, 0x1p-8);
  EXPECT_EQ(i.value().dtype(), Dtype::int32);
  EXPECT_EQ(&i.value().device(), &reference);
  EXPECT_EQ(parameters->dtype, narrow);
  EXPECT_EQ(&parameters->device.get(), &reference);
  parameters->convert(nullptr, &cpu);
  EXPECT_EQ(w.value().dtype(), narrow);
  EXPECT_EQ(&w.value().device(), &cpu);
}

}  // namespace
}  // namespace mt
