// SPDX-License-Identifier: Apache-2.0
#include "classifier.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "history.h"
#include "picture.h"
#include "progress.h"

typedef struct {
  const architecture* kind;
  mt_parameters* parameters;
  mt_layer* layers[most_layers];
} model;

const architecture* find_architecture(const architecture* all, size_t count, const char* name) {
  for (size_t i = 0; i < count; i++) {
    if (strcmp(all[i].name, name) == 0) return &all[i];
  }
  return NULL;
}

// Weights as He and others (2015) suggest for relu, biases 0.
static model new_model(const architecture* kind) {
  model m = {.kind = kind, .parameters = mt_parameters_new(MT_F32, NULL)};
  kind->build(m.parameters, m.layers);
  for (size_t i = 0; i < mt_parameters_count(m.parameters); i++) {
    mt_tensor* tensor = mt_parameters_tensor(m.parameters, i);
    if (mt_ndim(tensor) > 1) {
      mt_init_kaiming_uniform(tensor, 0);
    } else {
      mt_init_uniform(tensor, 0, 0);
    }
  }
  return m;
}

static mt_tensor* logits(const model* m, mt_tensor* images) {
  return m->kind->logits(m->layers, images);
}

// Adds `value` to a running total, without the history that led to it.
static void add_to(mt_tensor* total, mt_tensor* value) {
  mt_assign(total, mt_add(total, mt_detach(value)));
}

static mt_tensor* count_right(mt_tensor* z, mt_tensor* labels) {
  return mt_sum(mt_equal(mt_argmax(z, MT_DIMS(1)), labels), NULL, 0);
}

// One pass in random order; the score is of each batch as it was met.
static score train_epoch(const model* m, mt_optimizer* optimizer, mt_loader* loader) {
  score s = {0};
  int64_t n = 0;
  mt_parameters_set_training(m->parameters, true);
  MT_SCOPE {
    mt_tensor *loss_sum = mt_zeros(NULL, 0, MT_F32, NULL), *right = mt_zeros(NULL, 0, MT_I64, NULL);
    for (int64_t i = mt_loader_batches(loader); i > 0 && !mt_error(); i--) MT_SCOPE {
        mt_tensor* batch[2];
        mt_loader_next(loader, batch);
        mt_tensor *z = logits(m, batch[0]), *labels = batch[1];
        mt_tensor* loss = mt_cross_entropy(z, labels, 1, MT_REDUCTION_MEAN);
        mt_backward(loss);
        mt_optimizer_step(optimizer);
        mt_parameters_zero_grad(m->parameters);
        add_to(loss_sum, mt_mul(loss, mt_number((double)mt_dim(labels, 0))));
        add_to(right, count_right(z, labels));
        n += mt_dim(labels, 0);
      }
    s.loss = mt_item(loss_sum) / (double)n;
    s.accuracy = 100 * mt_item(right) / (double)n;
  }
  return s;
}

// A part at a time, so that memory does not grow with the set. `predicted`, of n, may be NULL.
static score evaluate(const model* m, image_set set, int64_t* predicted) {
  enum { part = 500 };
  int64_t n = mt_dim(set.images, 0);
  score s = {0};
  mt_parameters_set_training(m->parameters, false);
  for (int64_t i = 0; i < n && !mt_error(); i += part) MT_NO_GRAD MT_SCOPE {
      mt_tensor* labels = mt_slice(set.labels, 0, i, i + part, 1);
      mt_tensor* z = logits(m, mt_slice(set.images, 0, i, i + part, 1));
      s.loss += mt_item(mt_cross_entropy(z, labels, 1, MT_REDUCTION_SUM)) / (double)n;
      s.accuracy += 100 * mt_item(count_right(z, labels)) / (double)n;
      if (predicted) {
        mt_copy_to_host(mt_argmax(z, MT_DIMS(1)), predicted + i,
                        (size_t)mt_dim(labels, 0) * sizeof *predicted);
      }
    }
  return s;
}

static void draw(const model* m, const history* h, image_set set, double seconds, const char* title,
                 const char* path) {
  enum { most_mistakes = 16 };
  size_t n = (size_t)mt_dim(set.images, 0), mistakes = 0;
  uint32_t height = (uint32_t)mt_dim(set.images, 2), width = (uint32_t)mt_dim(set.images, 3);
  int64_t *predicted = malloc(n * sizeof *predicted), counts[classes * classes] = {0};
  picture_image images[most_mistakes];
  if (predicted) evaluate(m, set, predicted);
  const int64_t* labels = mt_map(set.labels);
  const float* pixels = mt_map(set.images);
  picture* p = picture_open(path, title, "Ten classes of handwritten digits.");
  if (p && predicted && labels && pixels) {
    for (size_t i = 0; i < n; i++) {
      counts[labels[i] * classes + predicted[i]]++;
      if (predicted[i] == labels[i] || mistakes == most_mistakes) continue;
      images[mistakes++] =
          (picture_image){pixels + i * height * width, (int)labels[i], (int)predicted[i]};
    }
    history_draw_figures(h, p, seconds);
    history_draw_curves(h, p, "cross-entropy (nats)");
    picture_confusion(p, "Held-out images by class", counts, classes);
    picture_mistakes(p, "Mistaken", images, mistakes, width, height);
  }
  if (picture_close(p) && !mt_error()) printf("picture:     %s\n", path);
  mt_unmap(set.labels);
  mt_unmap(set.images);
  free(predicted);
}

int train_classifier(const architecture* kind, image_set train, image_set held_out,
                     training_plan plan, const common_options* common) {
  model m = new_model(kind), reloaded = new_model(kind);
  mt_optimizer* optimizer = mt_optimizer_adamw(m.parameters, plan.rate, NULL);
  mt_loader_options shuffled = MT_LOADER_OPTIONS_INIT;
  shuffled.shuffle = true, shuffled.seed = -1;  // by --seed, as all that is drawn
  mt_loader* loader =
      mt_loader_new((mt_tensor*[]){train.images, train.labels}, 2, plan.batch, &shuffled);

  history h = history_start(plan.epochs);
  progress line = progress_start("epoch", plan.epochs);
  score last = {0};
  double seconds = 0;  // of training alone
  for (int epoch = 1; epoch <= plan.epochs && !mt_error(); epoch++) {
    double start = progress_seconds();
    score met = train_epoch(&m, optimizer, loader);
    seconds += progress_seconds() - start;
    last = evaluate(&m, held_out, NULL);
    history_add(&h, met, last);
    progress_show(&line, epoch, "loss %.4f  accuracy %.1f %%  held out %.2f %%", met.loss,
                  met.accuracy, last.accuracy);
  }
  progress_end(&line);

  mt_parameters_save(m.parameters, common->weights);
  mt_parameters_load(reloaded.parameters, common->weights);
  bool same = evaluate(&reloaded, held_out, NULL).loss == last.loss;

  if (!mt_error()) {
    history_print(&h, seconds);
    printf("weights:     %s, %s\n", common->weights, same ? "reloaded, the same" : "NOT THE SAME");
    draw(&m, &h, held_out, seconds, plan.title, common->picture);
  }
  if (mt_error()) fprintf(stderr, "%s\n", mt_error_message());
  history_free(&h);
  mt_loader_release(loader);
  mt_optimizer_release(optimizer);
  mt_parameters_release(m.parameters);
  mt_parameters_release(reloaded.parameters);
  return mt_error() != MT_OK || !same;
}
