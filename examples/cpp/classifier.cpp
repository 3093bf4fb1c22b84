// SPDX-License-Identifier: Apache-2.0
#include "classifier.hpp"

#include <cstdio>

using namespace mtorch;

namespace {

// Weights as He and others (2015) suggest for relu, biases 0.
Network start(Network network) {
  for (size_t i = 0; i < network.parameters.size(); i++) {
    Tensor tensor = network.parameters[i];
    tensor.ndim() > 1 ? init_kaiming_uniform(tensor) : init_uniform(tensor, 0, 0);
  }
  return network;
}

Tensor count_right(const Tensor& z, const Tensor& labels) { return sum(argmax(z, {1}) == labels); }

// One pass in random order; the score is of each batch as it was met.
score train_epoch(const Network& network, const Optimizer& optimizer, const Loader& loader) {
  double n = 0;
  network.parameters.set_training(true);
  Tensor loss_sum = zeros({}), right = zeros({}, i64);
  for (const Tensors& batch : loader) {
    Tensor z = network.logits(batch[0]), labels = batch[1], loss = cross_entropy(z, labels);
    auto count = static_cast<double>(labels.dim(0));
    loss.backward();
    optimizer.step();
    network.parameters.zero_grad();
    loss_sum += detach(loss) * count;
    right += count_right(z, labels);
    n += count;
  }
  return {loss_sum.item() / n, 100 * right.item() / n};
}

// A part at a time, so that memory does not grow with the set.
score evaluate(const Network& network, const ImageSet& set, std::vector<int64_t>* predicted = {}) {
  NoGrad off;
  int64_t n = set.images.dim(0), part = 500;
  auto count = static_cast<double>(n);
  score s{};
  network.parameters.set_training(false);
  for (int64_t i = 0; i < n; i += part) {
    Tensor labels = slice(set.labels, 0, i, i + part);
    Tensor z = network.logits(slice(set.images, 0, i, i + part));
    s.loss += cross_entropy(z, labels, 1, Reduction::sum).item() / count;
    s.accuracy += 100 * count_right(z, labels).item() / count;
    if (predicted) {
      for (int64_t kind : argmax(z, {1}).to_vector<int64_t>()) predicted->push_back(kind);
    }
  }
  return s;
}

void draw(const Network& network, const history& h, const ImageSet& set, double seconds,
          const char* title, const char* path) {
  std::vector<int64_t> predicted, counts(100);
  evaluate(network, set, &predicted);
  auto labels = set.labels.map<int64_t>();
  auto pixels = set.images.map<float>();
  auto height = static_cast<uint32_t>(set.images.dim(2)),
       width = static_cast<uint32_t>(set.images.dim(3));
  std::vector<picture_image> mistakes;
  for (size_t i = 0; i < labels.size(); i++) {
    counts[static_cast<size_t>(labels[i] * 10 + predicted[i])]++;
    if (predicted[i] == labels[i] || mistakes.size() == 16) continue;
    mistakes.push_back({pixels.data() + i * height * width, static_cast<int>(labels[i]),
                        static_cast<int>(predicted[i])});
  }
  picture* p = picture_open(path, title, "Ten classes of handwritten digits.");
  history_draw_figures(&h, p, seconds);
  history_draw_curves(&h, p, "cross-entropy (nats)");
  picture_confusion(p, "Held-out images by class", counts.data(), 10);
  picture_mistakes(p, "Mistaken", mistakes.data(), mistakes.size(), width, height);
  if (picture_close(p)) std::printf("picture:     %s\n", path);
}

}  // namespace

int train_classifier(const std::function<Network()>& make, const ImageSet& train,
                     const ImageSet& held_out, const Plan& plan, const common_options& common) {
  Network network = start(make()), reloaded = start(make());
  Optimizer optimizer = Optimizer::adamw(network.parameters, plan.rate);
  Loader loader({train.images, train.labels}, plan.batch, {.shuffle = true, .seed = -1});
  history h = history_start(plan.epochs);
  progress line = progress_start("epoch", plan.epochs);
  score last{};
  double seconds = 0;  // of training alone
  for (int epoch = 1; epoch <= plan.epochs; epoch++) {
    double begin = progress_seconds();
    score met = train_epoch(network, optimizer, loader);
    seconds += progress_seconds() - begin;
    last = evaluate(network, held_out);
    history_add(&h, met, last);
    progress_show(&line, epoch, "loss %.4f  accuracy %.1f %%  held out %.2f %%", met.loss,
                  met.accuracy, last.accuracy);
  }
  progress_end(&line);

  network.parameters.save(common.weights);
  reloaded.parameters.load(common.weights);
  history_print(&h, seconds);
  int status = report_weights(common, evaluate(reloaded, held_out).loss == last.loss);
  draw(network, h, held_out, seconds, plan.title, common.picture);
  history_free(&h);
  return status;
}
