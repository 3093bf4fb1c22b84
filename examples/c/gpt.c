// SPDX-License-Identifier: Apache-2.0
// Learns to write like a text, one character after the other, with a small transformer of the
// decoder kind (Radford and others, "Language models are unsupervised multitask learners", 2019).
// The last tenth of the text is held out.
#include <math.h>
#include <mtorch/mtorch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"
#include "picture.h"
#include "points_data.h"
#include "progress.h"
#include "text_data.h"

enum { most_blocks = 16 };

typedef struct {
  int blocks, width, heads, context, symbols;
} shape;

typedef struct {
  shape shape;
  mt_parameters* parameters;
  mt_layer *symbol, *place, *blocks[most_blocks], *norm, *output;
} model;

static model new_model(shape s) {
  model m = {.shape = s, .parameters = mt_parameters_new(MT_F32, NULL)};
  mt_parameters* p = m.parameters;
  m.symbol = mt_layer_embedding(p, "symbol", s.symbols, s.width);
  m.place = mt_layer_embedding(p, "place", s.context, s.width);
  mt_transformer_options how = MT_TRANSFORMER_OPTIONS_INIT;
  how.activation = "gelu_tanh(a)", how.causal = true;
  for (int i = 0; i < s.blocks; i++) {
    char name[16];
    snprintf(name, sizeof name, "block%d", i);
    m.blocks[i] = mt_layer_transformer(p, name, s.width, s.heads, &how);
  }
  m.norm = mt_layer_layer_norm(p, "norm", MT_DIMS(s.width), 1e-5);
  m.output = mt_layer_linear(p, "output", s.width, s.symbols, false);
  // Small weights and no biases, so that all symbols begin about equally likely.
  for (size_t i = 0; i < mt_parameters_count(p); i++) {
    mt_tensor* tensor = mt_parameters_tensor(p, i);
    if (mt_ndim(tensor) == 2) mt_init_normal(tensor, 0, 0.02);
    if (strstr(mt_parameters_name(p, i), "bias")) mt_init_uniform(tensor, 0, 0);
  }
  return m;
}

// Symbols [n, count] at `places` to what may follow each of them, [n, count, symbols]. `kept`: keys
// and values of those before, which each block adds to; NULL when the symbols are all there is.
static mt_tensor* logits(const model* m, mt_tensor* symbols, mt_tensor* places,
                         mt_tensor* const* kept) {
  mt_tensor* x = mt_add(mt_apply(m->symbol, symbols), mt_apply(m->place, places));
  for (int i = 0; i < m->shape.blocks; i++) {
    x = kept ? mt_apply_kept(m->blocks[i], x, kept[i], places) : mt_apply(m->blocks[i], x);
  }
  return mt_apply(m->output, mt_apply(m->norm, x));
}

// Nats a character, for the stretches of text that begin at `starts`, [n, 1].
static mt_tensor* mean_loss(const model* m, mt_tensor* text, mt_tensor* starts) {
  mt_tensor* places = mt_arange(0, m->shape.context, 1, MT_I64, NULL);
  mt_tensor* at = mt_add(starts, places);
  mt_tensor* next = mt_add(at, mt_whole_number(1));
  return mt_cross_entropy(logits(m, mt_index(text, MT_INDEX(MT_BY(at))), places, NULL),
                          mt_index(text, MT_INDEX(MT_BY(next))), -1, MT_REDUCTION_MEAN);
}

typedef struct {
  const model* model;
  mt_optimizer* optimizer;
  mt_tensor* text;
  int64_t sequences;
} training;

// One step on random stretches of the text: traced once, replayed after that. Each replay draws
// new stretches.
static mt_status step(void* user, mt_tensor* const* inputs, size_t ninputs, mt_tensor** results,
                      size_t nresults) {
  (void)inputs, (void)ninputs, (void)nresults;
  const training* t = user;
  int64_t last = mt_dim(t->text, 0) - t->model->shape.context;
  mt_tensor* starts = mt_integers(MT_DIMS(t->sequences, 1), 0, last, MT_I64, NULL);
  results[0] = mean_loss(t->model, t->text, starts);
  mt_backward(results[0]);
  mt_clip_grad_norm(t->model->parameters, 1);
  mt_optimizer_step(t->optimizer);
  return mt_parameters_zero_grad(t->model->parameters);
}

// Over the whole text, in stretches that follow each other, a few at a time.
static double evaluate(const model* m, mt_tensor* text) {
  enum { part = 64 };
  int context = m->shape.context;
  int64_t count = (mt_dim(text, 0) - 1) / context;
  double sum = 0;
  for (int64_t i = 0; i < count && !mt_error(); i += part) MT_NO_GRAD MT_SCOPE {
      int64_t end = i + part < count ? i + part : count;
      mt_tensor* starts =
          mt_arange((double)(i * context), (double)(end * context), context, MT_I64, NULL);
      mt_tensor* loss = mean_loss(m, text, mt_reshape(starts, MT_DIMS(-1, 1)));
      sum += mt_item(loss) * (double)(end - i);
    }
  return sum / (double)count;
}

// Draws a symbol with the likelihood that the logits give it.
static int draw_symbol(const float* logits, int symbols, uint64_t* random) {
  double most = logits[0], sum = 0;
  for (int i = 1; i < symbols; i++) most = fmax(most, logits[i]);
  for (int i = 0; i < symbols; i++) sum += exp(logits[i] - most);
  double left = random_uniform(random) * sum;
  int chosen = 0;
  while (chosen + 1 < symbols && (left -= exp(logits[chosen] - most)) >= 0) chosen++;
  return chosen;
}

typedef struct {
  const model* model;
  mt_tensor* kept[most_blocks];
} writer;

// Symbols [1, n] at their places [n] to what may follow the last of them.
static mt_status read_on(void* user, mt_tensor* const* inputs, size_t ninputs, mt_tensor** results,
                         size_t nresults) {
  (void)ninputs, (void)nresults;
  const writer* w = user;
  results[0] = mt_select(logits(w->model, inputs[0], inputs[1], w->kept), 1, -1);
  return mt_error();
}

// Continues a line break by `length` characters. Each is read once, by a trace that keeps what the
// next will look back at. When the context is full, its later half is read again, from place 0 on.
static void write_sample(const model* m, const text_data* text, char* sample, int length,
                         uint64_t random) {
  int context = m->shape.context, read = 0, filled = 1;
  int64_t* window = calloc((size_t)context, sizeof *window);
  const char* line_break = memchr(text->byte, '\n', (size_t)text->symbols);
  if (window && line_break) window[0] = line_break - text->byte;
  writer w = {.model = m};
  for (int i = 0; i < m->shape.blocks; i++) {
    w.kept[i] = mt_take(mt_kept_zeros(m->blocks[i], MT_DIMS(1), context));
  }
  mt_trace* trace = mt_trace_new(read_on, &w);
  for (int i = 0; window && i < length && !mt_error(); i++) MT_NO_GRAD MT_SCOPE {
      mt_tensor* inputs[] = {mt_from_data(window + read, MT_DIMS(1, filled - read), MT_I64, NULL),
                             mt_arange(read, filled, 1, MT_I64, NULL)};
      mt_tensor* last = NULL;
      mt_trace_call(trace, inputs, 2, &last, 1);
      const float* row = mt_map(last);
      if (row) {
        int symbol = draw_symbol(row, text->symbols, &random);
        sample[i] = text->byte[symbol];
        read = filled;
        if (filled == context) {
          read = 0, filled = context / 2;
          memmove(window, window + context - filled, (size_t)filled * sizeof *window);
        }
        window[filled++] = symbol;
      }
      mt_unmap(last);
    }
  mt_trace_release(trace);
  for (int i = 0; i < m->shape.blocks; i++) mt_release(w.kept[i]);
  free(window);
}

int main(int argc, char** argv) {
  common_options common = {.device = "cpu"};
  const char* path = NULL;
  shape s = {.blocks = 4, .width = 128, .heads = 4, .context = 64};
  int steps = 3000, sequences = 32, every = 250, length = 600;
  double rate = 2e-3;
  const option_row own[] = {
      {"text", OPTION_TEXT, &path, "the text to learn from, plain or gzip"},
      {"steps", OPTION_COUNT, &steps, "training steps"},
      {"sequences", OPTION_COUNT, &sequences, "stretches of text a step"},
      {"rate", OPTION_REAL, &rate, "highest learning rate of AdamW"},
      {"every", OPTION_COUNT, &every, "steps between two looks at the held-out text"},
      {"blocks", OPTION_COUNT, &s.blocks, "attention blocks, 16 at most"},
      {"width", OPTION_COUNT, &s.width, "width of the network"},
      {"heads", OPTION_COUNT, &s.heads, "heads of each attention"},
      {"context", OPTION_COUNT, &s.context, "characters that it sees"},
      {"length", OPTION_COUNT, &length, "characters of the sample"},
  };
  options_parse(argc, argv, "Learns to write like a text, character by character.", &common, own,
                10);
  if (!path) options_refuse("--text is needed");
  if (s.blocks > most_blocks) options_refuse("--blocks: 16 at most");
  if (s.width % s.heads != 0) options_refuse("--heads: must divide --width");
  options_name_files(&common, "gpt");
  mt_set_default_device(common.device);
  if (common.threads > 0) mt_set_threads(common.threads);
  mt_seed(common.seed);

  text_data text;
  if (!text_read(path, &text)) return 1;
  s.symbols = text.symbols;
  int64_t held_out = text.length / 10, most = text.length - held_out;
  if (held_out <= s.context) options_refuse("--text: too short");
  training t = {.sequences = sequences};
  t.text = mt_take(mt_from_data(text.symbol, MT_DIMS(most), MT_I64, NULL));
  mt_tensor* unseen = mt_take(mt_from_data(text.symbol + most, MT_DIMS(held_out), MT_I64, NULL));
  model m = new_model(s), reloaded = new_model(s);
  t.model = &m;
  t.optimizer = mt_optimizer_adamw(m.parameters, rate, NULL);
  mt_trace* trace = mt_trace_new(step, &t);

  double last = NAN, seconds = 0;
  size_t looks = 0, room = (size_t)(steps / every + 2);
  double* curves = malloc(3 * room * sizeof *curves);  // step, loss on the way, held-out loss
  double mean = 0;                                     // of the loss since the last look
  progress line = progress_start("step", steps);
  for (int i = 0; curves && i < steps && !mt_error(); i++) {
    double start = progress_seconds(), loss = NAN;
    mt_optimizer_set_learning_rate(
        t.optimizer, mt_schedule_warmup(1, i, 100) * mt_schedule_cosine(rate, i, steps, rate / 10));
    MT_SCOPE {
      mt_tensor* result = NULL;
      mt_trace_call(trace, NULL, 0, &result, 1);
      loss = mt_item(result);
    }
    seconds += progress_seconds() - start;
    mean += (loss - mean) / (i % every + 1);
    if ((i + 1) % every == 0 || i + 1 == steps) {
      last = evaluate(&m, unseen);
      curves[looks] = i + 1, curves[room + looks] = mean, curves[2 * room + looks] = last;
      looks++, mean = 0;
    }
    if (looks == 0) {
      progress_show(&line, i + 1, "loss %.3f", loss);
    } else {
      progress_show(&line, i + 1, "loss %.3f  held out %.3f nats", loss, last);
    }
  }
  progress_end(&line);

  mt_parameters_save(m.parameters, common.weights);
  mt_parameters_load(reloaded.parameters, common.weights);
  bool same = evaluate(&reloaded, unseen) == last;
  char* sample = calloc((size_t)length + 1, 1);
  if (sample) write_sample(&reloaded, &text, sample, length, common.seed);

  if (!mt_error() && curves && sample) {
    printf("%s\n\n", sample);
    printf("held out:    %.4f nats a character\n", last);
    printf("training:    %.3g ms a step\n", 1e3 * seconds / steps);
    printf("weights:     %s, %s\n", common.weights, same ? "reloaded, the same" : "NOT THE SAME");
    picture* p = picture_open(common.picture, "A small transformer learns to write", path);
    char text[2][32];
    snprintf(text[0], sizeof text[0], "%.3f nats a character", last);
    snprintf(text[1], sizeof text[1], "%.3g ms", 1e3 * seconds / steps);
    picture_figures(p, (picture_figure[]){{"held out", text[0]}, {"training a step", text[1]}}, 2);
    picture_curves(p, (picture_axes){"Loss", "step", "nats a character", false, -1},
                   (picture_series[]){{"trained on", curves, curves + room, looks},
                                      {"held out", curves, curves + 2 * room, looks}},
                   2);
    picture_text(p, "What it writes", sample, strlen(sample));
    if (picture_close(p)) printf("picture:     %s\n", common.picture);
  }
  if (mt_error()) fprintf(stderr, "gpt: %s\n", mt_error_message());
  free(sample), free(curves), text_free(&text);
  mt_trace_release(trace);
  mt_optimizer_release(t.optimizer);
  mt_release(t.text), mt_release(unseen);
  mt_parameters_release(m.parameters), mt_parameters_release(reloaded.parameters);
  return mt_error() != MT_OK || !same;
}
