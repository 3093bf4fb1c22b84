// SPDX-License-Identifier: Apache-2.0
// Learns to part two kinds of points in the plane, with a network of two hidden layers.
#include <mtorch/mtorch.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "history.h"
#include "options.h"
#include "picture.h"
#include "points_data.h"
#include "progress.h"

enum { grid = 96 };

typedef struct {
  int count;
  float *points, *labels;
  mt_tensor *x, *y;  // the same: [count, 2] and [count, 1]
} data;

typedef struct {
  mt_parameters* parameters;
  mt_layer *first, *second, *last;
  mt_optimizer* optimizer;
} model;

static bool new_data(data* d, const char* name, int count, uint64_t seed) {
  *d = (data){.count = count, .points = malloc((size_t)count * 3 * sizeof(float))};
  if (!d->points) return fprintf(stderr, "points: out of memory\n"), false;
  d->labels = d->points + 2 * (size_t)count;
  if (!points_make(name, (size_t)count, seed, d->points, d->labels)) return false;
  d->x = mt_take(mt_from_data(d->points, MT_DIMS(count, 2), MT_F32, NULL));
  d->y = mt_take(mt_from_data(d->labels, MT_DIMS(count, 1), MT_F32, NULL));
  return true;
}

static void release_data(data* d) {
  mt_release(d->x);
  mt_release(d->y);
  free(d->points);
}

// Weights as He and others (2015) suggest for relu. Biases are 0, but where the data winds the
// first layer's are spread over the plane, so that it begins with folds everywhere.
static model new_model(int hidden, bool spread) {
  model m = {.parameters = mt_parameters_new(MT_F32, NULL)};
  m.first = mt_layer_linear(m.parameters, "first", 2, hidden, true);
  m.second = mt_layer_linear(m.parameters, "second", hidden, hidden, true);
  m.last = mt_layer_linear(m.parameters, "last", hidden, 1, true);
  for (size_t i = 0; i < mt_parameters_count(m.parameters); i++) {
    mt_tensor* tensor = mt_parameters_tensor(m.parameters, i);
    if (mt_ndim(tensor) == 2) {
      mt_init_kaiming_uniform(tensor, 0);
    } else {
      mt_init_uniform(tensor, 0, 0);
    }
  }
  if (spread) mt_init_uniform(mt_parameters_get(m.parameters, "first.bias"), -1.5, 1.5);
  return m;
}

static void release_model(model* m) {
  mt_optimizer_release(m->optimizer);
  mt_parameters_release(m->parameters);
}

// [n, 2] to [n, 1]: above 0 where the network believes in class 1.
static mt_tensor* logits(const model* m, mt_tensor* x) {
  x = mt_relu(mt_apply(m->first, x));
  x = mt_relu(mt_apply(m->second, x));
  return mt_apply(m->last, x);
}

static score evaluate(const model* m, const data* d) {
  score s = {0};
  MT_NO_GRAD MT_SCOPE {
    mt_tensor* z = logits(m, d->x);
    mt_tensor* right = mt_equal(mt_greater(z, mt_number(0)), mt_greater(d->y, mt_number(0.5)));
    s.loss = mt_item(mt_bce_with_logits(z, d->y, MT_REDUCTION_MEAN));
    s.accuracy = 100 * mt_item(mt_mean(mt_astype(right, MT_F64), NULL, 0));
  }
  return s;
}

// One step on a batch of points and labels: traced once for each batch size, replayed after that.
static mt_status step(void* user, mt_tensor* const* batch, size_t nbatch, mt_tensor** results,
                      size_t nresults) {
  (void)nbatch, (void)results, (void)nresults;
  model* m = user;
  mt_backward(mt_bce_with_logits(logits(m, batch[0]), batch[1], MT_REDUCTION_MEAN));
  mt_optimizer_step(m->optimizer);
  return mt_parameters_zero_grad(m->parameters);
}

static void train_epoch(mt_trace* steps, const data* d, int64_t batch) {
  MT_SCOPE {
    mt_tensor* order = mt_permutation(d->count, NULL);
    for (int64_t i = 0; i < d->count; i += batch) MT_SCOPE {
        mt_tensor* rows = mt_slice(order, 0, i, i + batch, 1);
        mt_tensor* pair[] = {mt_index_select(d->x, rows, 0), mt_index_select(d->y, rows, 0)};
        mt_trace_call(steps, pair, 2, NULL, 0);
      }
    mt_eval(NULL, 0);
  }
}

static void draw(const model* m, const history* h, const data* d, const char* name, double seconds,
                 const char* path) {
  double low = strcasecmp(name, "spiral") == 0 ? -0.15 : 0, high = 1 - low;
  static float probability[grid * grid];
  MT_NO_GRAD MT_SCOPE {
    mt_tensor* x = mt_broadcast_to(mt_linspace(low, high, grid, MT_F32, NULL), MT_DIMS(grid, grid));
    mt_tensor* plane[] = {x, mt_matrix_transpose(x)};
    mt_tensor* z = logits(m, mt_reshape(mt_stack(plane, 2, -1), MT_DIMS(-1, 2)));
    mt_copy_to_host(mt_sigmoid(z), probability, sizeof probability);
  }
  char title[64], subtitle[96];
  long long width = mt_dim(mt_parameters_get(m->parameters, "first.bias"), 0);
  snprintf(title, sizeof title, "Points: %s", name);
  snprintf(subtitle, sizeof subtitle, "A network 2-%lld-%lld-1 parts two kinds of points.", width,
           width);
  picture* p = picture_open(path, title, subtitle);
  history_draw_figures(h, p, seconds);
  picture_boundary(p, "What the network believes", probability, grid, low, high, d->points,
                   d->labels, (size_t)d->count);
  history_draw_curves(h, p, "cross-entropy (nats)");
  if (picture_close(p)) printf("picture:     %s\n", path);
}

int main(int argc, char** argv) {
  common_options common = {.device = "cpu"};
  const char* dataset = "spiral";
  int count = 50, hidden = 100, batch = 10, epochs = 500;
  double rate = 0;
  const option_row own[] = {
      {"dataset", OPTION_TEXT, &dataset, "simple, diag, split, xor, circle or spiral"},
      {"points", OPTION_COUNT, &count, "points to train on"},
      {"hidden", OPTION_COUNT, &hidden, "width of the two hidden layers"},
      {"batch", OPTION_COUNT, &batch, "points a step"},
      {"epochs", OPTION_COUNT, &epochs, "passes over the points"},
      {"rate", OPTION_REAL, &rate, "learning rate; 0: 0.5 for SGD, 0.005 for Adam (spiral)"},
  };
  options_parse(argc, argv, "Learns to part two kinds of points in the plane.", &common, own, 6);
  if (count < 2) options_refuse("--points: 2 or more");
  char name[64];
  snprintf(name, sizeof name, "points-%s", dataset);
  options_name_files(&common, name);
  mt_set_default_device(common.device);
  if (common.threads > 0) mt_set_threads(common.threads);
  mt_seed(common.seed);

  data train, held_out;
  if (!new_data(&train, dataset, count, common.seed))
    options_refuse("--dataset: simple, diag, split, xor, circle or spiral");
  new_data(&held_out, dataset, 1000, ~common.seed);
  bool spiral = strcasecmp(dataset, "spiral") == 0;
  model m = new_model(hidden, spiral);
  m.optimizer = spiral ? mt_optimizer_adam(m.parameters, rate > 0 ? rate : 0.005, NULL)
                       : mt_optimizer_sgd(m.parameters, rate > 0 ? rate : 0.5, NULL);
  mt_trace* steps = mt_trace_new(step, &m);

  history h = history_start(epochs);
  progress line = progress_start("epoch", epochs);
  double seconds = 0;  // of training alone
  for (int epoch = 1; epoch <= epochs && !mt_error(); epoch++) {
    double start = progress_seconds();
    train_epoch(steps, &train, batch);
    seconds += progress_seconds() - start;
    score now[] = {evaluate(&m, &train), evaluate(&m, &held_out)};
    history_add(&h, now[0], now[1]);
    progress_show(&line, epoch, "loss %.4f  accuracy %.1f %%  held out %.1f %%", now[0].loss,
                  now[0].accuracy, now[1].accuracy);
  }
  progress_end(&line);

  mt_parameters_save(m.parameters, common.weights);
  model reloaded = new_model(hidden, false);
  mt_parameters_load(reloaded.parameters, common.weights);
  bool same = evaluate(&reloaded, &held_out).loss == evaluate(&m, &held_out).loss;

  if (!mt_error()) {
    history_print(&h, seconds);
    printf("weights:     %s, %s\n", common.weights, same ? "reloaded, the same" : "NOT THE SAME");
    draw(&m, &h, &train, dataset, seconds, common.picture);
  }
  if (mt_error()) fprintf(stderr, "points: %s\n", mt_error_message());
  history_free(&h);
  mt_trace_release(steps);
  release_model(&m);
  release_model(&reloaded);
  release_data(&train);
  release_data(&held_out);
  return mt_error() != MT_OK || !same;
}
