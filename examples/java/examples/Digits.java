// SPDX-License-Identifier: Apache-2.0
package examples;

import examples.Classifier.ImageSet;
import examples.Classifier.Network;
import org.mtorch.ConvOptions;
import org.mtorch.Layer;
import org.mtorch.MTorchException;
import org.mtorch.Parameters;
import org.mtorch.Tensor;

/** Reads 8 x 8 handwritten digits, with a plain or with a convolutional network. */
final class Digits {
  private Digits() {}

  /** 64-100-10 */
  private static Network mlp() {
    Parameters p = Parameters.create();
    Layer hidden = p.linear("hidden", 64, 100);
    Layer output = p.linear("output", 100, 10);
    return new Network(p, x -> output.apply(hidden.apply(x.reshape(-1, 64)).relu()));
  }

  /** Two convolutions 3 x 3 that keep the size, with 16 and 32 channels; then 4 x 4 maxima. */
  private static Network conv() {
    Parameters p = Parameters.create();
    Layer first = p.conv2d("conv1", 1, 16, 3, 3, new ConvOptions().padding(1));
    Layer second = p.conv2d("conv2", 16, 32, 3, 3, new ConvOptions().padding(1));
    Layer output = p.linear("output", 32 * 4 * 4, 10);
    return new Network(
        p,
        x -> {
          x = second.apply(first.apply(x).relu()).relu().maxPool2d(2, 2);
          return output.apply(x.reshape(-1, 32 * 4 * 4));
        });
  }

  private static ImageSet digits(int which) {
    int n = (int) SupportNative.digits_count(which);
    float[] pixels = new float[n * 64];
    long[] labels = new long[n];
    SupportNative.digits_take(which, pixels, labels);
    return new ImageSet(Tensor.of(pixels, n, 1, 8, 8), Tensor.of(labels));
  }

  public static void main(String[] arguments) {
    Options options =
        new Options("Digits")
            .add("network", "conv", "mlp or conv")
            .add("epochs", "30", "passes over the digits")
            .add("batch", "32", "digits a step")
            .add("rate", "0.003", "learning rate of AdamW")
            .add("data", System.getProperty("examples.digits"), "the digits");
    try {
      options.parse("Learns to read 8 x 8 handwritten digits.", arguments);
      boolean plain = options.text("network").equals("mlp");
      if (!plain && !options.text("network").equals("conv")) {
        options.refuse("--network: mlp or conv");
      }
      if (!SupportNative.digits_open(options.text("data"))) System.exit(1);
      System.exit(
          Classifier.train(
              plain ? Digits::mlp : Digits::conv, digits(0), digits(1),
              plain ? "Digits: a network 64-100-10" : "Digits: a convolutional network", options,
              options.out(plain ? "digits-mlp" : "digits-conv")));
    } catch (MTorchException error) {
      System.err.println("digits: " + error.getMessage());
      System.exit(1);
    }
  }
}
