// SPDX-License-Identifier: Apache-2.0
// Reads MNIST's 28 x 28 handwritten digits from two IDX files, with a plain network or one in the
// style of LeNet (LeCun and others, 1998). The first four fifths are trained on, the rest held out.
#include <cstring>

#include "classifier.hpp"

using namespace mtorch;

// 784-100-10
static Network mlp() {
  Parameters p;
  Layer hidden = p.linear("hidden", 28 * 28, 100), output = p.linear("output", 100, 10);
  return {p, [=](Tensor x) { return output(relu(hidden(reshape(x, {-1, 28 * 28})))); }};
}

static Network lenet() {
  Parameters p;
  Layer conv1 = p.conv2d("conv1", 1, 8, 5, 5, {.padding = {2, 2}});
  Layer conv2 = p.conv2d("conv2", 8, 16, 5, 5), drop1 = p.dropout(0.3);
  Layer hidden = p.linear("hidden", 16 * 5 * 5, 100), drop2 = p.dropout(0.3);
  Layer output = p.linear("output", 100, 10);
  return {p, [=](Tensor x) {
            x = max_pool2d(relu(conv1(x)), 2, 2);  // [n, 8, 14, 14]
            x = max_pool2d(relu(conv2(x)), 2, 2);  // [n, 16, 5, 5]
            x = drop1(reshape(x, {-1, 16 * 5 * 5}));
            return output(drop2(relu(hidden(x))));
          }};
}

int main(int argc, char** argv) {
  common_options common = usual_options();
  const char *image_path = nullptr, *label_path = nullptr, *network = "lenet";
  Plan plan{.epochs = 20, .batch = 64, .rate = 0.003};
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
  bool plain = std::strcmp(network, "mlp") == 0;
  if (!plain && std::strcmp(network, "lenet") != 0) options_refuse("--network: mlp or lenet");
  plan.title = plain ? "MNIST: a network 784-100-10" : "MNIST: a network in the style of LeNet";
  options_name_files(&common, plain ? "mnist-mlp" : "mnist-lenet");
  return report("mnist", [&] {
    apply_options(common);
    Tensor images = reshape(astype(load_idx(image_path), f32) / 255, {-1, 1, 28, 28});
    Tensor labels = astype(load_idx(label_path), i64);
    int64_t most = images.dim(0) * 4 / 5;
    ImageSet train{slice(images, 0, 0, most), slice(labels, 0, 0, most)};
    ImageSet held_out{slice(images, 0, most, open_end), slice(labels, 0, most, open_end)};
    eval();
    return train_classifier(plain ? mlp : lenet, train, held_out, plan, common);
  });
}
