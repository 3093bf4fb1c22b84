// SPDX-License-Identifier: Apache-2.0
package examples;

import java.util.Locale;
import org.mtorch.DType;
import org.mtorch.Init;
import org.mtorch.Layer;
import org.mtorch.MTorchException;
import org.mtorch.NoGrad;
import org.mtorch.Optimizer;
import org.mtorch.Parameters;
import org.mtorch.Reduction;
import org.mtorch.Scope;
import org.mtorch.Tensor;
import org.mtorch.Trace;

/** Learns to part two kinds of points in the plane, with a network of two hidden layers. */
final class Points {
  private static final int GRID = 96;

  private Points() {}

  /** Points [count, 2] and labels [count, 1]. */
  private record Data(float[] points, float[] labels, Tensor x, Tensor y) {
    static Data make(String name, int count, long seed) {
      float[] points = new float[2 * count];
      float[] labels = new float[count];
      if (!SupportNative.points_make(name, count, seed, points, labels)) return null;
      return new Data(points, labels, Tensor.of(points, count, 2), Tensor.of(labels, count, 1));
    }
  }

  private record Score(double loss, double accuracy) {}

  /**
   * Weights as He and others (2015) suggest for relu. Biases are 0, but where the data winds the
   * first layer's are spread over the plane, so that it begins with folds everywhere.
   */
  private static final class Model {
    final Parameters parameters = Parameters.create();
    final Layer first;
    final Layer second;
    final Layer last;

    Model(int hidden, boolean spread) {
      first = parameters.linear("first", 2, hidden);
      second = parameters.linear("second", hidden, hidden);
      last = parameters.linear("last", hidden, 1);
      for (int i = 0; i < parameters.count(); i++) {
        Tensor tensor = parameters.get(i);
        if (tensor.ndim() == 2) {
          Init.kaimingUniform(tensor, 0);
        } else {
          Init.uniform(tensor, 0, 0);
        }
      }
      if (spread) Init.uniform(parameters.get("first.bias"), -1.5, 1.5);
    }

    /** [n, 2] to [n, 1]: above 0 where the network believes in class 1. */
    Tensor logits(Tensor x) {
      return last.apply(second.apply(first.apply(x).relu()).relu());
    }

    Score evaluate(Data d) {
      try (NoGrad off = NoGrad.begin();
          Scope scope = Scope.open()) {
        Tensor z = logits(d.x);
        Tensor right = z.greater(0).equal(d.y.greater(0.5));
        return new Score(
            z.bceWithLogits(d.y, Reduction.MEAN).item(),
            100 * right.astype(DType.FLOAT64).mean().item());
      }
    }
  }

  private static void draw(Model model, Data d, String name, double seconds, String path) {
    double low = name.equalsIgnoreCase("spiral") ? -0.15 : 0;
    double high = 1 - low;
    float[] probability;
    try (NoGrad off = NoGrad.begin();
        Scope scope = Scope.open()) {
      Tensor x = Tensor.linspace(low, high, GRID).broadcastTo(GRID, GRID);
      Tensor plane = Tensor.stack(-1, x, x.matrixTranspose()).reshape(-1, 2);
      probability = model.logits(plane).sigmoid().toFloatArray();
    }
    long width = model.parameters.get("first.bias").dim(0);
    SupportNative.page_open(
        path, "Points: " + name,
        "A network 2-" + width + "-" + width + "-1 parts two kinds of points.");
    SupportNative.page_figures(seconds);
    SupportNative.page_boundary(
        "What the network believes", probability, GRID, low, high, d.points, d.labels,
        d.labels.length);
    SupportNative.page_curves("cross-entropy (nats)");
    if (SupportNative.page_close()) System.out.println("picture:     " + path);
  }

  private static int run(Options options) {
    String name = options.text("dataset");
    int count = options.count("points");
    int hidden = options.count("hidden");
    int batch = options.count("batch");
    int epochs = options.count("epochs");
    if (count < 2) options.refuse("--points: 2 or more");
    Data train = Data.make(name, count, options.seed());
    if (train == null) options.refuse("--dataset: simple, diag, split, xor, circle or spiral");
    Data heldOut = Data.make(name, 1000, ~options.seed());
    boolean spiral = name.equalsIgnoreCase("spiral");
    Model model = new Model(hidden, spiral);
    double rate = options.real("rate");
    Optimizer optimizer =
        spiral
            ? Optimizer.adam(model.parameters, rate > 0 ? rate : 0.005)
            : Optimizer.sgd(model.parameters, rate > 0 ? rate : 0.5);
    // Recorded once for each batch size, replayed after that.
    Trace step =
        new Trace(
            in -> {
              model.logits(in[0]).bceWithLogits(in[1], Reduction.MEAN).backward();
              optimizer.step();
              model.parameters.zeroGrad();
              return new Tensor[0];
            });

    SupportNative.start(epochs);
    double seconds = 0; // of training alone
    for (int epoch = 1; epoch <= epochs; epoch++) {
      double begin = SupportNative.progress_seconds();
      try (Scope scope = Scope.open()) {
        Tensor order = Tensor.permutation(count);
        for (int i = 0; i < count; i += batch) {
          Tensor rows = order.slice(0, i, i + batch, 1);
          step.call(0, train.x.indexSelect(rows, 0), train.y.indexSelect(rows, 0));
        }
        Tensor.evalAll();
      }
      seconds += SupportNative.progress_seconds() - begin;
      Score now = model.evaluate(train);
      Score unseen = model.evaluate(heldOut);
      SupportNative.show(
          epoch, now.loss, now.accuracy, unseen.loss, unseen.accuracy,
          String.format(
              Locale.ROOT, "loss %.4f  accuracy %.1f %%  held out %.1f %%", now.loss,
              now.accuracy, unseen.accuracy));
    }

    String out = options.out("points-" + name);
    String weights = out + ".safetensors";
    model.parameters.save(weights);
    Model reloaded = new Model(hidden, false);
    reloaded.parameters.load(weights);
    SupportNative.finish(seconds);
    boolean same = reloaded.evaluate(heldOut).equals(model.evaluate(heldOut));
    System.out.printf(
        "weights:     %s, %s%n", weights, same ? "reloaded, the same" : "NOT THE SAME");
    draw(model, train, name, seconds, out + ".html");
    return same ? 0 : 1;
  }

  public static void main(String[] arguments) {
    Options options =
        new Options("Points")
            .add("dataset", "spiral", "simple, diag, split, xor, circle or spiral")
            .add("points", "50", "points to train on")
            .add("hidden", "100", "width of the two hidden layers")
            .add("batch", "10", "points a step")
            .add("epochs", "500", "passes over the points")
            .add("rate", "0", "learning rate; 0: 0.5 for SGD, 0.005 for Adam (spiral)");
    try {
      options.parse("Learns to part two kinds of points in the plane.", arguments);
      System.exit(run(options));
    } catch (MTorchException error) {
      System.err.println("points: " + error.getMessage());
      System.exit(1);
    }
  }
}
