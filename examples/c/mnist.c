// SPDX-License-Identifier: Apache-2.0
// Reads MNIST's 28 x 28 handwritten digits from two IDX files, with a plain network or one in the
// style of LeNet (LeCun and others, 1998). The first four fifths are trained on, the rest held out.
#include <mtorch/mtorch.h>
#include <stdio.h>

#include "classifier.h"
#include "options.h"

// 784-100-10
static void build_mlp(mt_parameters* parameters, mt_layer** layers) {
  layers[0] = mt_layer_linear(parameters, "hidden", 28 * 28, 100, true);
  layers[1] = mt_layer_linear(parameters, "output", 100, classes, true);
}

static mt_tensor* mlp(mt_layer* const* layers, mt_tensor* x) {
  x = mt_reshape(x, MT_DIMS(-1, 28 * 28));
  x = mt_relu(mt_apply(layers[0], x));
  return mt_apply(layers[1], x);
}

static void build_lenet(mt_parameters* parameters, mt_layer** layers) {
  mt_conv_options same = MT_CONV_OPTIONS_INIT;
  same.padding[0] = same.padding[1] = 2;
  layers[0] = mt_layer_conv2d(parameters, "conv1", 1, 8, 5, 5, &same);
  layers[1] = mt_layer_conv2d(parameters, "conv2", 8, 16, 5, 5, NULL);
  layers[2] = mt_layer_dropout(parameters, 0.3);
  layers[3] = mt_layer_linear(parameters, "hidden", 16 * 5 * 5, 100, true);
  layers[4] = mt_layer_dropout(parameters, 0.3);
  layers[5] = mt_layer_linear(parameters, "output", 100, classes, true);
}

static mt_tensor* lenet(mt_layer* const* layers, mt_tensor* x) {
  x = mt_max_pool2d(mt_relu(mt_apply(layers[0], x)), 2, 2, NULL);  // [n, 8, 14, 14]
  x = mt_max_pool2d(mt_relu(mt_apply(layers[1], x)), 2, 2, NULL);  // [n, 16, 5, 5]
  x = mt_apply(layers[2], mt_reshape(x, MT_DIMS(-1, 16 * 5 * 5)));
  x = mt_apply(layers[4], mt_relu(mt_apply(layers[3], x)));
  return mt_apply(layers[5], x);
}

static const architecture kinds[] = {{"mlp", build_mlp, mlp}, {"lenet", build_lenet, lenet}};

// Rows `from` to `to`, kept beyond the scope that the caller has open.
static image_set part(mt_tensor* images, mt_tensor* labels, int64_t from, int64_t to) {
  return (image_set){mt_take(mt_slice(images, 0, from, to, 1)),
                     mt_take(mt_slice(labels, 0, from, to, 1))};
}

int main(int argc, char** argv) {
  common_options common = {.device = "cpu"};
  const char *image_path = NULL, *label_path = NULL, *network = "lenet";
  training_plan plan = {.epochs = 20, .batch = 64, .rate = 0.003};
  const option_row own[] = {
      {"images", OPTION_TEXT, &image_path, "IDX file of n x 28 x 28 pixels, plain or gzip"},
      {"labels", OPTION_TEXT, &label_path, "IDX file of n labels"},
      {"network", OPTION_TEXT, &network, "mlp or lenet"},
      {"epochs", OPTION_COUNT, &plan.epochs, "passes over the images"},
      {"batch", OPTION_COUNT, &plan.batch, "images a step"},
      {"rate", OPTION_REAL, &plan.rate, "learning rate of AdamW"},
  };
  options_parse(argc, argv, "Learns to read MNIST's handwritten digits.", &common, own, 6);
  if (!image_path || !label_path) options_refuse("--images and --labels are needed");
  const architecture* kind = find_architecture(kinds, 2, network);
  if (!kind) options_refuse("--network: mlp or lenet");
  bool plain = kind == &kinds[0];
  plan.title = plain ? "MNIST: a network 784-100-10" : "MNIST: a network in the style of LeNet";
  options_name_files(&common, plain ? "mnist-mlp" : "mnist-lenet");
  mt_set_default_device(common.device);
  if (common.threads > 0) mt_set_threads(common.threads);
  mt_seed(common.seed);

  image_set train = {0}, held_out = {0};
  MT_SCOPE {
    mt_tensor* bytes = mt_load_idx(image_path, NULL);
    mt_tensor* images = mt_div(mt_astype(bytes, MT_F32), mt_number(255));
    mt_tensor* labels = mt_astype(mt_load_idx(label_path, NULL), MT_I64);
    images = mt_reshape(images, MT_DIMS(-1, 1, 28, 28));
    int64_t count = mt_dim(images, 0), most = count * 4 / 5;
    train = part(images, labels, 0, most);
    held_out = part(images, labels, most, count);
    mt_eval(NULL, 0);
  }
  int result = train_classifier(kind, train, held_out, plan, &common);
  mt_release(train.images), mt_release(train.labels);
  mt_release(held_out.images), mt_release(held_out.labels);
  return result;
}
