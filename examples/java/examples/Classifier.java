// SPDX-License-Identifier: Apache-2.0
package examples;

import java.util.function.Function;
import java.util.function.Supplier;
import org.mtorch.DType;
import org.mtorch.Init;
import org.mtorch.Loader;
import org.mtorch.LoaderOptions;
import org.mtorch.NoGrad;
import org.mtorch.Optimizer;
import org.mtorch.Parameters;
import org.mtorch.Reduction;
import org.mtorch.Scope;
import org.mtorch.Tensor;

/**
 * What Digits and Mnist share: training a network that sorts images into ten classes, from the
 * first epoch to the picture at the end.
 */
final class Classifier {
  private static final int CLASSES = 10;

  private Classifier() {}

  /** Layers, and how they take images [n, 1, height, width] to [n, 10]. */
  record Network(Parameters parameters, Function<Tensor, Tensor> logits) {}

  /** Images from 0 (paper) to 1 (ink), and labels, int64. */
  record ImageSet(Tensor images, Tensor labels) {}

  private record Score(double loss, double accuracy) {}

  /** Weights as He and others (2015) suggest for relu, biases 0. */
  private static Network start(Network network) {
    for (Tensor tensor : network.parameters.tensors().values()) {
      if (tensor.ndim() > 1) {
        Init.kaimingUniform(tensor, 0);
      } else {
        Init.uniform(tensor, 0, 0);
      }
    }
    return network;
  }

  private static Tensor countRight(Tensor z, Tensor labels) {
    return z.argmax(1).equal(labels).sum();
  }

  /** One pass in random order; the score is of each batch as it was met. */
  private static Score trainEpoch(Network network, Optimizer optimizer, Loader loader) {
    long n = 0;
    network.parameters.setTraining(true);
    try (Scope scope = Scope.open()) {
      Tensor lossSum = Tensor.zeros();
      Tensor right = Tensor.zeros(DType.INT64);
      for (long i = 0; i < loader.batches(); i++) {
        try (Scope step = Scope.open()) {
          Tensor[] batch = loader.next();
          Tensor labels = batch[1];
          Tensor z = network.logits.apply(batch[0]);
          Tensor loss = z.crossEntropy(labels, 1);
          loss.backward();
          optimizer.step();
          network.parameters.zeroGrad();
          lossSum.assign(lossSum.add(loss.detach().mul((double) labels.dim(0))));
          right.assign(right.add(countRight(z, labels)));
          n += labels.dim(0);
        }
      }
      return new Score(lossSum.item() / n, 100 * right.item() / n);
    }
  }

  /** A part at a time, so that memory does not grow with the set; fills predicted, or null. */
  private static Score evaluate(Network network, ImageSet set, long[] predicted) {
    int part = 500;
    int n = (int) set.images.dim(0);
    double loss = 0;
    double accuracy = 0;
    network.parameters.setTraining(false);
    for (int i = 0; i < n; i += part) {
      try (NoGrad off = NoGrad.begin();
          Scope scope = Scope.open()) {
        Tensor labels = set.labels.slice(0, i, i + part);
        Tensor z = network.logits.apply(set.images.slice(0, i, i + part));
        loss += z.crossEntropy(labels, 1, Reduction.SUM).item() / n;
        accuracy += 100 * countRight(z, labels).item() / n;
        if (predicted != null) {
          long[] kinds = z.argmax(1).toLongArray();
          System.arraycopy(kinds, 0, predicted, i, kinds.length);
        }
      }
    }
    return new Score(loss, accuracy);
  }

  private static void draw(
      Network network, ImageSet set, double seconds, String title, String path) {
    int n = (int) set.images.dim(0);
    int height = (int) set.images.dim(2);
    int width = (int) set.images.dim(3);
    long[] predicted = new long[n];
    evaluate(network, set, predicted);
    long[] labels = set.labels.toLongArray();
    float[] pixels = set.images.toFloatArray();
    long[] counts = new long[CLASSES * CLASSES];
    float[] images = new float[16 * width * height];
    int[] is = new int[16];
    int[] takenFor = new int[16];
    int mistakes = 0;
    for (int i = 0; i < n; i++) {
      counts[(int) (labels[i] * CLASSES + predicted[i])]++;
      if (predicted[i] == labels[i] || mistakes == 16) continue;
      System.arraycopy(
          pixels, i * width * height, images, mistakes * width * height, width * height);
      is[mistakes] = (int) labels[i];
      takenFor[mistakes++] = (int) predicted[i];
    }
    SupportNative.page_open(path, title, "Ten classes of handwritten digits.");
    SupportNative.page_figures(seconds);
    SupportNative.page_curves("cross-entropy (nats)");
    SupportNative.page_confusion("Held-out images by class", counts, CLASSES);
    SupportNative.page_mistakes("Mistaken", images, is, takenFor, mistakes, width, height);
    if (SupportNative.page_close()) System.out.println("picture:     " + path);
  }

  /** Returns what the program should. */
  static int train(
      Supplier<Network> make, ImageSet train, ImageSet heldOut, String title, Options options,
      String out) {
    Network network = start(make.get());
    Network reloaded = start(make.get());
    int epochs = options.count("epochs");
    double seconds = 0; // of training alone
    Score last = null;
    SupportNative.start(epochs);
    LoaderOptions shuffled = new LoaderOptions().shuffle(true).seed(-1); // by --seed, as the rest
    try (Optimizer optimizer = Optimizer.adamw(network.parameters, options.real("rate"));
        Loader loader = Loader.of(options.count("batch"), shuffled, train.images, train.labels)) {
      for (int epoch = 1; epoch <= epochs; epoch++) {
        double begin = SupportNative.progress_seconds();
        Score met = trainEpoch(network, optimizer, loader);
        seconds += SupportNative.progress_seconds() - begin;
        last = evaluate(network, heldOut, null);
        SupportNative.show(
            epoch, met.loss, met.accuracy, last.loss, last.accuracy,
            String.format(
                "loss %.4f  accuracy %.1f %%  held out %.2f %%",
                met.loss, met.accuracy, last.accuracy));
      }
    }
    String weights = out + ".safetensors";
    network.parameters.save(weights);
    reloaded.parameters.load(weights);
    SupportNative.finish(seconds);
    boolean same = evaluate(reloaded, heldOut, null).equals(last);
    System.out.printf(
        "weights:     %s, %s%n", weights, same ? "reloaded, the same" : "NOT THE SAME");
    draw(network, heldOut, seconds, title, out + ".html");
    return same ? 0 : 1;
  }
}
