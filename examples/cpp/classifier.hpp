// SPDX-License-Identifier: Apache-2.0
// What `digits` and `mnist` share: training a network that sorts images into ten classes, from the
// first epoch to the picture at the end.
#pragma once

#include "support.hpp"

struct Network {
  mtorch::Parameters parameters;
  std::function<mtorch::Tensor(mtorch::Tensor images)> logits;  // [n, 1, h, w] to [n, 10]
};

struct ImageSet {
  mtorch::Tensor images;  // [n, 1, height, width], from 0 (paper) to 1 (ink)
  mtorch::Tensor labels;  // int64 [n]
};

struct Plan {
  const char* title = nullptr;
  int epochs, batch;
  double rate;  // of AdamW
};

// Returns what main() should.
int train_classifier(const std::function<Network()>& make, const ImageSet& train,
                     const ImageSet& held_out, const Plan& plan, const common_options& common);
