// SPDX-License-Identifier: Apache-2.0
// Reads 8 x 8 handwritten digits, with a plain or with a convolutional network.
#include "digits_data.h"

#include <mtorch/mtorch.h>

#include "classifier.h"
#include "options.h"

#ifndef DIGITS_PATH
#define DIGITS_PATH "examples/data/digits.csv.gz"
#endif

// 64-100-10
static void build_mlp(mt_parameters* parameters, mt_layer** layers) {
  layers[0] = mt_layer_linear(parameters, "hidden", digits_pixels, 100, true);
  layers[1] = mt_layer_linear(parameters, "output", 100, classes, true);
}

static mt_tensor* mlp(mt_layer* const* layers, mt_tensor* x) {
  x = mt_reshape(x, MT_DIMS(-1, digits_pixels));
  x = mt_relu(mt_apply(layers[0], x));
  return mt_apply(layers[1], x);
}

// Two convolutions 3 x 3 that keep the size, with 16 and 32 channels; then 4 x 4 maxima.
static void build_conv(mt_parameters* parameters, mt_layer** layers) {
  mt_conv_options same = MT_CONV_OPTIONS_INIT;
  same.padding[0] = same.padding[1] = 1;
  layers[0] = mt_layer_conv2d(parameters, "conv1", 1, 16, 3, 3, &same);
  layers[1] = mt_layer_conv2d(parameters, "conv2", 16, 32, 3, 3, &same);
  layers[2] = mt_layer_linear(parameters, "output", 32 * 4 * 4, classes, true);
}

static mt_tensor* conv(mt_layer* const* layers, mt_tensor* x) {
  x = mt_relu(mt_apply(layers[0], x));
  x = mt_relu(mt_apply(layers[1], x));
  x = mt_max_pool2d(x, 2, 2, NULL);
  return mt_apply(layers[2], mt_reshape(x, MT_DIMS(-1, 32 * 4 * 4)));
}

static const architecture kinds[] = {{"mlp", build_mlp, mlp}, {"conv", build_conv, conv}};

static image_set to_tensors(const digits_set* set) {
  return (image_set){mt_take(mt_from_data(set->pixels, MT_DIMS(set->count, 1, 8, 8), MT_F32, NULL)),
                     mt_take(mt_from_data(set->label, MT_DIMS(set->count), MT_I64, NULL))};
}

int main(int argc, char** argv) {
  common_options common = {.device = "cpu"};
  const char *path = DIGITS_PATH, *network = "conv";
  training_plan plan = {.epochs = 30, .batch = 32, .rate = 0.003};
  const option_row own[] = {
      {"network", OPTION_TEXT, &network, "mlp or conv"},
      {"epochs", OPTION_COUNT, &plan.epochs, "passes over the digits"},
      {"batch", OPTION_COUNT, &plan.batch, "digits a step"},
      {"rate", OPTION_REAL, &plan.rate, "learning rate of AdamW"},
      {"data", OPTION_TEXT, &path, "the digits"},
  };
  options_parse(argc, argv, "Learns to read 8 x 8 handwritten digits.", &common, own, 5);
  const architecture* kind = find_architecture(kinds, 2, network);
  if (!kind) options_refuse("--network: mlp or conv");
  bool plain = kind == &kinds[0];
  plan.title = plain ? "Digits: a network 64-100-10" : "Digits: a convolutional network";
  options_name_files(&common, plain ? "digits-mlp" : "digits-conv");
  mt_set_default_device(common.device);
  if (common.threads > 0) mt_set_threads(common.threads);
  mt_seed(common.seed);

  digits_set digits[2];
  if (!digits_read(path, &digits[0], &digits[1])) return 1;
  image_set train = to_tensors(&digits[0]), held_out = to_tensors(&digits[1]);
  int result = train_classifier(kind, train, held_out, plan, &common);
  mt_release(train.images), mt_release(train.labels);
  mt_release(held_out.images), mt_release(held_out.labels);
  digits_free(&digits[0]), digits_free(&digits[1]);
  return result;
}
