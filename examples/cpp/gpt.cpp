// SPDX-License-Identifier: Apache-2.0
// Learns to write like a text, one character after the other, with a small transformer of the
// decoder kind (Radford and others, "Language models are unsupervised multitask learners", 2019).
// The last tenth of the text is held out.
#include <cmath>
#include <cstdio>
#include <cstring>

#include "support.hpp"

using namespace mtorch;

namespace {

struct Shape {
  int blocks, width, heads, context, symbols;
};

struct Model {
  Shape shape;
  Parameters p;
  Layer symbol, place, norm, output;
  std::vector<Layer> blocks;

  explicit Model(Shape s)
      : shape(s),
        symbol(p.embedding("symbol", s.symbols, s.width)),
        place(p.embedding("place", s.context, s.width)) {
    for (int i = 0; i < s.blocks; i++) {
      blocks.push_back(p.transformer("block" + std::to_string(i), s.width, s.heads,
                                     {.activation = "gelu_tanh(a)", .causal = true}));
    }
    norm = p.layer_norm("norm", {s.width});
    output = p.linear("output", s.width, s.symbols, false);
    // Small weights and no biases, so that all symbols begin about equally likely.
    for (const auto& [name, tensor] : p.tensors()) {
      if (tensor.ndim() == 2) init_normal(tensor, 0, 0.02);
      if (name.find("bias") != std::string::npos) init_uniform(tensor, 0, 0);
    }
  }

  // Symbols [n, count] at `places` to what may follow each of them, [n, count, symbols]. `kept`:
  // keys and values of those before, which each block adds to; none when the symbols are all.
  Tensor operator()(const Tensor& symbols, const Tensor& places, const Tensors& kept = {}) const {
    Tensor x = symbol(symbols) + place(places);
    for (size_t i = 0; i < blocks.size(); i++) {
      x = kept.empty() ? blocks[i](x) : blocks[i](x, kept[i], places);
    }
    return output(norm(x));
  }

  // Nats a character, for the stretches of text that begin at `starts`, [n, 1].
  Tensor mean_loss(const Tensor& text, const Tensor& starts) const {
    Tensor places = arange(0, shape.context, 1, i64), at = starts + places, next = at + 1;
    return cross_entropy((*this)(text[{by(at)}], places), text[{by(next)}], -1);
  }

  // Over the whole text, in stretches that follow each other, a few at a time.
  double evaluate(const Tensor& text) const {
    NoGrad off;
    int64_t context = shape.context, count = (text.dim(0) - 1) / context, part = 64;
    double sum = 0;
    for (int64_t i = 0; i < count; i += part) {
      int64_t end = std::min(i + part, count);
      Tensor starts = arange(static_cast<double>(i * context), static_cast<double>(end * context),
                             static_cast<double>(context), i64);
      sum += mean_loss(text, reshape(starts, {-1, 1})).item() * static_cast<double>(end - i);
    }
    return sum / static_cast<double>(count);
  }
};

// Draws a symbol with the likelihood that the logits give it.
int64_t draw_symbol(const Mapped<float>& logits, uint64_t* random) {
  double most = *std::max_element(logits.begin(), logits.end()), sum = 0;
  for (float z : logits) sum += std::exp(z - most);
  double left = random_uniform(random) * sum;
  size_t chosen = 0;
  while (chosen + 1 < logits.size() && (left -= std::exp(logits[chosen] - most)) >= 0) chosen++;
  return static_cast<int64_t>(chosen);
}

// Continues a line break. Each character is read once, by a trace that keeps what the next will
// look back at. When the context is full, its later half is read again, from place 0 on.
std::string write_sample(const Model& model, const text_data& text, int length, uint64_t random) {
  NoGrad off;
  int64_t context = model.shape.context, read = 0;
  Tensors kept;
  for (const Layer& block : model.blocks) kept.push_back(block.kept_zeros({1}, context));
  Trace read_on(
      [&](const Tensors& in) -> Tensors { return {select(model(in[0], in[1], kept), 1, -1)}; });
  const void* line_break = std::memchr(text.byte, '\n', static_cast<size_t>(text.symbols));
  std::vector<int64_t> window{line_break ? static_cast<const char*>(line_break) - text.byte : 0};
  std::string sample;
  while (sample.size() < static_cast<size_t>(length)) {
    auto filled = static_cast<int64_t>(window.size());
    Tensor symbols =
        tensor(std::span(window).subspan(static_cast<size_t>(read)), {1, filled - read});
    Tensor places = arange(static_cast<double>(read), static_cast<double>(filled), 1, i64);
    int64_t symbol = draw_symbol(read_on({symbols, places})[0].map<float>(), &random);
    sample += text.byte[symbol];
    read = filled;
    if (filled == context) window.erase(window.begin(), window.end() - context / 2), read = 0;
    window.push_back(symbol);
  }
  return sample;
}

}  // namespace

int main(int argc, char** argv) {
  common_options common = usual_options();
  const char* path = nullptr;
  Shape s{4, 128, 4, 64, 0};
  int steps = 3000, sequences = 32, every = 250, length = 600;
  double rate = 2e-3;
  const option_row own[] = {
      {"text", OPTION_TEXT, &path, "the text to learn from, plain or gzip"},
      {"steps", OPTION_COUNT, &steps, "training steps"},
      {"sequences", OPTION_COUNT, &sequences, "stretches of text a step"},
      {"rate", OPTION_REAL, &rate, "highest learning rate of AdamW"},
      {"every", OPTION_COUNT, &every, "steps between two looks at the held-out text"},
      {"blocks", OPTION_COUNT, &s.blocks, "attention blocks"},
      {"width", OPTION_COUNT, &s.width, "width of the network"},
      {"heads", OPTION_COUNT, &s.heads, "heads of each attention"},
      {"context", OPTION_COUNT, &s.context, "characters that it sees"},
      {"length", OPTION_COUNT, &length, "characters of the sample"},
  };
  options_parse(argc, argv, "Learns to write like a text, character by character.", &common, own,
                10);
  if (!path) options_refuse("--text is needed");
  if (s.width % s.heads != 0) options_refuse("--heads: must divide --width");
  options_name_files(&common, "gpt");
  return report("gpt", [&] {
    apply_options(common);
    text_data text;
    if (!text_read(path, &text)) return 1;
    s.symbols = text.symbols;
    int64_t unseen_length = text.length / 10, most = text.length - unseen_length;
    if (unseen_length <= s.context) options_refuse("--text: too short");
    std::span all(text.symbol, static_cast<size_t>(text.length));
    Tensor seen = tensor(all.first(static_cast<size_t>(most)), {most});
    Tensor unseen = tensor(all.last(static_cast<size_t>(unseen_length)), {unseen_length});
    Model model(s), reloaded(s);
    Optimizer optimizer = Optimizer::adamw(model.p, rate);
    // One step on random stretches of the text: traced once, replayed after that. Each replay
    // draws new stretches.
    Trace step([&](const Tensors&) -> Tensors {
      Tensor loss = model.mean_loss(seen, integers({sequences, 1}, 0, most - s.context));
      loss.backward();
      model.p.clip_grad_norm(1);
      optimizer.step();
      model.p.zero_grad();
      return {loss};
    });

    double last = NAN, seconds = 0, mean = 0;  // `mean` is of the loss since the last look
    std::vector<double> steps_at, on_the_way, held_out;
    progress line = progress_start("step", steps);
    for (int i = 0; i < steps; i++) {
      double start = progress_seconds();
      optimizer.set_learning_rate(schedule_warmup(1, i, 100) *
                                  schedule_cosine(rate, i, steps, rate / 10));
      double loss = step({})[0].item();
      seconds += progress_seconds() - start;
      mean += (loss - mean) / (i % every + 1);
      if ((i + 1) % every == 0 || i + 1 == steps) {
        last = model.evaluate(unseen);
        steps_at.push_back(i + 1), on_the_way.push_back(mean), held_out.push_back(last);
        mean = 0;
      }
      if (held_out.empty()) {
        progress_show(&line, i + 1, "loss %.3f", loss);
      } else {
        progress_show(&line, i + 1, "loss %.3f  held out %.3f nats", loss, last);
      }
    }
    progress_end(&line);

    model.p.save(common.weights);
    reloaded.p.load(common.weights);
    bool same = reloaded.evaluate(unseen) == last;
    std::string sample = write_sample(reloaded, text, length, common.seed);
    std::printf("%s\n\nheld out:    %.4f nats a character\n", sample.c_str(), last);
    std::printf("training:    %.3g ms a step\n", 1e3 * seconds / steps);
    int status = report_weights(common, same);
    picture* p = picture_open(common.picture, "A small transformer learns to write", path);
    char nats[32], time[32];
    std::snprintf(nats, sizeof nats, "%.3f nats a character", last);
    std::snprintf(time, sizeof time, "%.3g ms", 1e3 * seconds / steps);
    const picture_figure figures[] = {{"held out", nats}, {"training a step", time}};
    picture_figures(p, figures, 2);
    const picture_series series[] = {
        {"trained on", steps_at.data(), on_the_way.data(), steps_at.size()},
        {"held out", steps_at.data(), held_out.data(), steps_at.size()}};
    picture_curves(p, {"Loss", "step", "nats a character", false, -1}, series, 2);
    picture_text(p, "What it writes", sample.data(), sample.size());
    if (picture_close(p)) std::printf("picture:     %s\n", common.picture);
    text_free(&text);
    return status;
  });
}
