// SPDX-License-Identifier: Apache-2.0
package examples;

import examples.Classifier.ImageSet;
import examples.Classifier.Network;
import org.mtorch.ConvOptions;
import org.mtorch.DType;
import org.mtorch.Index;
import org.mtorch.MTorchException;
import org.mtorch.Parameters;
import org.mtorch.Sequential;
import org.mtorch.Tensor;
import org.mtorch.TensorFiles;

/**
 * Reads MNIST's 28 x 28 handwritten digits from two IDX files, with a plain network or one in the
 * style of LeNet (LeCun and others, 1998). The first four fifths are trained on, the rest held out.
 */
final class Mnist {
  private Mnist() {}

  /** 784-100-10 */
  private static Network mlp() {
    Parameters p = Parameters.create();
    return new Network(
        p,
        new Sequential(
            x -> x.reshape(-1, 28 * 28),
            p.linear("hidden", 28 * 28, 100), Tensor::relu, p.linear("output", 100, 10)));
  }

  private static Network lenet() {
    Parameters p = Parameters.create();
    return new Network(
        p,
        new Sequential(
            p.conv2d("conv1", 1, 8, 5, 5, new ConvOptions().padding(2)),
            x -> x.relu().maxPool2d(2, 2), // [n, 8, 14, 14]
            p.conv2d("conv2", 8, 16, 5, 5),
            x -> x.relu().maxPool2d(2, 2), // [n, 16, 5, 5]
            x -> x.reshape(-1, 16 * 5 * 5), p.dropout(0.3),
            p.linear("hidden", 16 * 5 * 5, 100), Tensor::relu, p.dropout(0.3),
            p.linear("output", 100, 10)));
  }

  public static void main(String[] arguments) {
    Options options =
        new Options("Mnist")
            .add("images", null, "IDX file of n x 28 x 28 pixels, plain or gzip")
            .add("labels", null, "IDX file of n labels")
            .add("network", "lenet", "mlp or lenet")
            .add("epochs", "20", "passes over the images")
            .add("batch", "64", "images a step")
            .add("rate", "0.003", "learning rate of AdamW");
    try {
      options.parse("Learns to read MNIST's handwritten digits.", arguments);
      if (options.text("images") == null || options.text("labels") == null) {
        options.refuse("--images and --labels are needed");
      }
      boolean plain = options.text("network").equals("mlp");
      if (!plain && !options.text("network").equals("lenet")) {
        options.refuse("--network: mlp or lenet");
      }
      Tensor images =
          TensorFiles.readIdx(options.text("images")).astype(DType.FLOAT32).div(255)
              .reshape(-1, 1, 28, 28);
      Tensor labels = TensorFiles.readIdx(options.text("labels")).astype(DType.INT64);
      long most = images.dim(0) * 4 / 5;
      System.exit(
          Classifier.train(
              plain ? Mnist::mlp : Mnist::lenet,
              new ImageSet(images.slice(0, 0, most), labels.slice(0, 0, most)),
              new ImageSet(
                  images.slice(0, most, Index.OPEN), labels.slice(0, most, Index.OPEN)),
              plain ? "MNIST: a network 784-100-10" : "MNIST: a network in the style of LeNet",
              options, options.out(plain ? "mnist-mlp" : "mnist-lenet")));
    } catch (MTorchException error) {
      System.err.println("mnist: " + error.getMessage());
      System.exit(1);
    }
  }
}
