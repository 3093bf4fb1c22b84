// SPDX-License-Identifier: Apache-2.0
// Reads 8 x 8 handwritten digits, with a plain or with a convolutional network.
#include <cstring>

#include "classifier.hpp"

using namespace mtorch;

// 64-100-10
static Network mlp() {
  Parameters p;
  Layer hidden = p.linear("hidden", 64, 100), output = p.linear("output", 100, 10);
  return {p, [=](Tensor x) { return output(relu(hidden(reshape(x, {-1, 64})))); }};
}

// Two convolutions 3 x 3 that keep the size, with 16 and 32 channels; then 4 x 4 maxima.
static Network conv() {
  Parameters p;
  Layer first = p.conv2d("conv1", 1, 16, 3, 3, {.padding = {1, 1}});
  Layer second = p.conv2d("conv2", 16, 32, 3, 3, {.padding = {1, 1}});
  Layer output = p.linear("output", 32 * 4 * 4, 10);
  return {p, [=](Tensor x) {
            x = max_pool2d(relu(second(relu(first(x)))), 2, 2);
            return output(reshape(x, {-1, 32 * 4 * 4}));
          }};
}

static ImageSet to_tensors(digits_set* set) {
  auto n = static_cast<size_t>(set->count);
  ImageSet tensors = {tensor(std::span(set->pixels, n * 64), {set->count, 1, 8, 8}),
                      tensor(std::span(set->label, n), {set->count})};
  digits_free(set);
  return tensors;
}

int main(int argc, char** argv) {
  common_options common = usual_options();
  const char *path = DIGITS_PATH, *network = "conv";
  Plan plan{.epochs = 30, .batch = 32, .rate = 0.003};
  const option_row own[] = {
      {"network", OPTION_TEXT, &network, "mlp or conv"},
      {"epochs", OPTION_COUNT, &plan.epochs, "passes over the digits"},
      {"batch", OPTION_COUNT, &plan.batch, "digits a step"},
      {"rate", OPTION_REAL, &plan.rate, "learning rate of AdamW"},
      {"data", OPTION_TEXT, &path, "the digits"},
  };
  options_parse(argc, argv, "Learns to read 8 x 8 handwritten digits.", &common, own, 5);
  bool plain = std::strcmp(network, "mlp") == 0;
  if (!plain && std::strcmp(network, "conv") != 0) options_refuse("--network: mlp or conv");
  plan.title = plain ? "Digits: a network 64-100-10" : "Digits: a convolutional network";
  options_name_files(&common, plain ? "digits-mlp" : "digits-conv");
  return report("digits", [&] {
    apply_options(common);
    digits_set digits[2];
    if (!digits_read(path, &digits[0], &digits[1])) return 1;
    ImageSet train = to_tensors(&digits[0]), held_out = to_tensors(&digits[1]);
    return train_classifier(plain ? mlp : conv, train, held_out, plan, common);
  });
}
