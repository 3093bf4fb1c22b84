// SPDX-License-Identifier: Apache-2.0
// Learns to part two kinds of points in the plane, with a network of two hidden layers.
#include <strings.h>

#include <cstdio>

#include "support.hpp"

using namespace mtorch;

namespace {

struct Data {
  std::vector<float> points, labels;
  Tensor x, y;  // the same: [count, 2] and [count, 1]
};

Data make_data(const char* name, int count, uint64_t seed) {
  auto n = static_cast<size_t>(count);
  Data d{std::vector<float>(2 * n), std::vector<float>(n), {}, {}};
  if (!points_make(name, n, seed, d.points.data(), d.labels.data())) {
    options_refuse("--dataset: simple, diag, split, xor, circle or spiral");
  }
  d.x = tensor(d.points, {count, 2}), d.y = tensor(d.labels, {count, 1});
  return d;
}

// Weights as He and others (2015) suggest for relu. Biases are 0, but where the data winds the
// first layer's are spread over the plane, so that it begins with folds everywhere.
struct Model {
  Parameters parameters;
  Layer first, second, last;

  explicit Model(int hidden, bool spread = false)
      : first(parameters.linear("first", 2, hidden)),
        second(parameters.linear("second", hidden, hidden)),
        last(parameters.linear("last", hidden, 1)) {
    for (size_t i = 0; i < parameters.size(); i++) {
      Tensor tensor = parameters[i];
      tensor.ndim() == 2 ? init_kaiming_uniform(tensor) : init_uniform(tensor, 0, 0);
    }
    if (spread) init_uniform(parameters["first.bias"], -1.5, 1.5);
  }

  // [n, 2] to [n, 1]: above 0 where the network believes in class 1.
  Tensor operator()(const Tensor& x) const { return last(relu(second(relu(first(x))))); }
};

score evaluate(const Model& model, const Data& d) {
  NoGrad off;
  Tensor z = model(d.x), right = (z > 0) == (d.y > 0.5);
  return {bce_with_logits(z, d.y).item(), 100 * mean(astype(right, f64)).item()};
}

void draw(const Model& model, const history& h, const Data& d, const char* name, double seconds,
          const char* path) {
  constexpr int64_t grid = 96;
  double low = strcasecmp(name, "spiral") == 0 ? -0.15 : 0, high = 1 - low;
  NoGrad off;
  Tensor x = broadcast_to(linspace(low, high, grid), {grid, grid});
  Tensor z = model(reshape(stack({x, matrix_transpose(x)}, -1), {-1, 2}));
  auto probability = sigmoid(z).to_vector<float>();
  char title[64], subtitle[96];
  auto width = static_cast<long long>(model.parameters["first.bias"].dim(0));
  std::snprintf(title, sizeof title, "Points: %s", name);
  std::snprintf(subtitle, sizeof subtitle, "A network 2-%lld-%lld-1 parts two kinds of points.",
                width, width);
  picture* p = picture_open(path, title, subtitle);
  history_draw_figures(&h, p, seconds);
  picture_boundary(p, "What the network believes", probability.data(), grid, low, high,
                   d.points.data(), d.labels.data(), d.labels.size());
  history_draw_curves(&h, p, "cross-entropy (nats)");
  if (picture_close(p)) std::printf("picture:     %s\n", path);
}

}  // namespace

int main(int argc, char** argv) {
  common_options common = usual_options();
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
  options_name_files(&common, (std::string("points-") + dataset).c_str());
  return report("points", [&] {
    apply_options(common);
    Data train = make_data(dataset, count, common.seed);
    Data held_out = make_data(dataset, 1000, ~common.seed);
    bool spiral = strcasecmp(dataset, "spiral") == 0;
    Model model(hidden, spiral);
    Optimizer optimizer = spiral ? Optimizer::adam(model.parameters, rate > 0 ? rate : 0.005)
                                 : Optimizer::sgd(model.parameters, rate > 0 ? rate : 0.5);
    // Recorded once for each batch size, replayed after that.
    Trace step([&](const Tensors& in) -> Tensors {
      bce_with_logits(model(in[0]), in[1]).backward();
      optimizer.step();
      model.parameters.zero_grad();
      return {};
    });

    history h = history_start(epochs);
    progress line = progress_start("epoch", epochs);
    double seconds = 0;  // of training alone
    for (int epoch = 1; epoch <= epochs; epoch++) {
      double start = progress_seconds();
      Tensor order = permutation(count);
      for (int64_t i = 0; i < count; i += batch) {
        Tensor rows = slice(order, 0, i, i + batch);
        step({index_select(train.x, rows, 0), index_select(train.y, rows, 0)}, 0);
      }
      eval();
      seconds += progress_seconds() - start;
      score now = evaluate(model, train), unseen = evaluate(model, held_out);
      history_add(&h, now, unseen);
      progress_show(&line, epoch, "loss %.4f  accuracy %.1f %%  held out %.1f %%", now.loss,
                    now.accuracy, unseen.accuracy);
    }
    progress_end(&line);

    model.parameters.save(common.weights);
    Model reloaded(hidden);
    reloaded.parameters.load(common.weights);
    history_print(&h, seconds);
    int status =
        report_weights(common, evaluate(reloaded, held_out).loss == evaluate(model, held_out).loss);
    draw(model, h, train, dataset, seconds, common.picture);
    history_free(&h);
    return status;
  });
}
