// SPDX-License-Identifier: Apache-2.0
// What `digits` and `mnist` share: training a network that sorts images into ten classes, from the
// first epoch to the picture at the end.
#ifndef EXAMPLES_CLASSIFIER_H
#define EXAMPLES_CLASSIFIER_H

#include <mtorch/mtorch.h>

#include "options.h"

enum { classes = 10, most_layers = 8 };

// A kind of network: `build` fills in its layers, `logits` takes [n, 1, height, width] to [n, 10].
typedef struct {
  const char* name;
  void (*build)(mt_parameters* parameters, mt_layer** layers);
  mt_tensor* (*logits)(mt_layer* const* layers, mt_tensor* images);
} architecture;

// The one that is called `name`; NULL when none is.
const architecture* find_architecture(const architecture* all, size_t count, const char* name);

typedef struct {
  mt_tensor* images;  // [n, 1, height, width], from 0 (paper) to 1 (ink)
  mt_tensor* labels;  // int64 [n]
} image_set;

typedef struct {
  const char* title;
  int epochs, batch;
  double rate;  // of AdamW
} training_plan;

// Returns what main() should: 0, or 1 after saying on stderr what went wrong.
int train_classifier(const architecture* kind, image_set train, image_set held_out,
                     training_plan plan, const common_options* common);

#endif
