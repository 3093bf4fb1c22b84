// SPDX-License-Identifier: Apache-2.0
package examples;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.mtorch.DType;
import org.mtorch.Index;
import org.mtorch.Init;
import org.mtorch.Layer;
import org.mtorch.MTorchException;
import org.mtorch.NoGrad;
import org.mtorch.Optimizer;
import org.mtorch.Parameters;
import org.mtorch.Schedules;
import org.mtorch.Scope;
import org.mtorch.Tensor;
import org.mtorch.Trace;
import org.mtorch.TransformerOptions;

/**
 * Learns to write like a text, one character after the other, with a small transformer of the
 * decoder kind (Radford and others, "Language models are unsupervised multitask learners", 2019).
 * The last tenth of the text is held out.
 */
final class Gpt {
  private final Parameters parameters = Parameters.create();
  private final int context;
  private final Layer symbol;
  private final Layer place;
  private final Layer[] blocks;
  private final Layer norm;
  private final Layer output;

  private Gpt(int symbols, Options options) {
    context = options.count("context");
    int width = options.count("width");
    Parameters p = parameters;
    symbol = p.embedding("symbol", symbols, width);
    place = p.embedding("place", context, width);
    blocks = new Layer[options.count("blocks")];
    TransformerOptions how = new TransformerOptions().activation("gelu_tanh(a)").causal(true);
    for (int i = 0; i < blocks.length; i++) {
      blocks[i] = p.transformer("block" + i, width, options.count("heads"), how);
    }
    norm = p.layerNorm("norm", width);
    output = p.linear("output", width, symbols, false);
    // Small weights and no biases, so that all symbols begin about equally likely.
    p.tensors()
        .forEach(
            (name, tensor) -> {
              if (tensor.ndim() == 2) Init.normal(tensor, 0, 0.02);
              if (name.contains("bias")) Init.uniform(tensor, 0, 0);
            });
  }

  /**
   * Symbols [n, count] at {@code places} to what may follow each of them, [n, count, symbols]. {@code
   * kept}: keys and values of those before, which each block adds to; null when the symbols are all.
   */
  private Tensor logits(Tensor symbols, Tensor places, Tensor[] kept) {
    Tensor x = symbol.apply(symbols).add(place.apply(places));
    for (int i = 0; i < blocks.length; i++) {
      x = kept == null ? blocks[i].apply(x) : blocks[i].applyKept(x, kept[i], places);
    }
    return output.apply(norm.apply(x));
  }

  /** Nats a character, for the stretches of text that begin at {@code starts}, [n, 1]. */
  private Tensor meanLoss(Tensor text, Tensor starts) {
    Tensor places = Tensor.arange(0, context, 1, DType.INT64);
    Tensor at = starts.add(places);
    Tensor next = at.add(1);
    return logits(text.index(Index.by(at)), places, null)
        .crossEntropy(text.index(Index.by(next)), -1);
  }

  /** Over the whole text, in stretches that follow each other, a few at a time. */
  private double evaluate(Tensor text) {
    long count = (text.dim(0) - 1) / context;
    double sum = 0;
    for (long i = 0; i < count; i += 64) {
      try (NoGrad off = NoGrad.begin();
          Scope scope = Scope.open()) {
        long end = Math.min(i + 64, count);
        Tensor starts = Tensor.arange(i * context, end * context, context, DType.INT64);
        sum += meanLoss(text, starts.reshape(-1, 1)).item() * (end - i);
      }
    }
    return sum / count;
  }

  /** Draws a symbol with the likelihood that the logits give it. */
  private static int drawSymbol(float[] logits) {
    double most = logits[0];
    double sum = 0;
    for (float z : logits) most = Math.max(most, z);
    for (float z : logits) sum += Math.exp(z - most);
    double left = SupportNative.random_next() * sum;
    int chosen = 0;
    while (chosen + 1 < logits.length && (left -= Math.exp(logits[chosen] - most)) >= 0) chosen++;
    return chosen;
  }

  /**
   * Continues a line break. Each character is read once, by a trace that keeps what the next will
   * look back at. When the context is full, its later half is read again, from place 0 on.
   */
  private byte[] write(byte[] alphabet, int length, long seed) {
    SupportNative.random_start(seed);
    Tensor[] kept = new Tensor[blocks.length];
    for (int i = 0; i < kept.length; i++) kept[i] = blocks[i].keptZeros(context, 1);
    long[] window = new long[context];
    window[0] = Math.max(0, new String(alphabet, StandardCharsets.ISO_8859_1).indexOf('\n'));
    int read = 0;
    int filled = 1;
    byte[] sample = new byte[length];
    try (NoGrad off = NoGrad.begin();
        Trace readOn =
            new Trace(in -> new Tensor[] {logits(in[0], in[1], kept).select(1, -1)})) {
      for (int i = 0; i < length; i++) {
        try (Scope scope = Scope.open()) {
          Tensor symbols = Tensor.of(Arrays.copyOfRange(window, read, filled), 1, filled - read);
          Tensor places = Tensor.arange(read, filled, 1, DType.INT64);
          int next = drawSymbol(readOn.apply(symbols, places).toFloatArray());
          sample[i] = alphabet[next];
          read = filled;
          if (filled == context) {
            read = 0;
            filled = context / 2;
            System.arraycopy(window, context - filled, window, 0, filled);
          }
          window[filled++] = next;
        }
      }
    }
    return sample;
  }

  private static int train(Options options) {
    String path = options.text("text");
    if (path == null) options.refuse("--text is needed");
    int steps = options.count("steps");
    int every = options.count("every");
    int sequences = options.count("sequences");
    if (options.count("width") % options.count("heads") != 0) {
      options.refuse("--heads: must divide --width");
    }
    if (!SupportNative.text_open(path)) return 1;
    long[] all = new long[(int) SupportNative.text_length()];
    byte[] alphabet = new byte[SupportNative.text_symbols()];
    SupportNative.text_take(all, alphabet);
    int most = all.length - all.length / 10;
    Tensor text = Tensor.of(Arrays.copyOf(all, most));
    Tensor unseen = Tensor.of(Arrays.copyOfRange(all, most, all.length));
    if (unseen.size() <= options.count("context")) options.refuse("--text: too short");

    Gpt model = new Gpt(alphabet.length, options);
    Gpt reloaded = new Gpt(alphabet.length, options);
    double rate = options.real("rate");
    double last = Double.NaN;
    double seconds = 0;
    double mean = 0; // of the loss since the last look
    int looks = 0;
    double[] at = new double[steps / every + 1];
    double[] trainedOn = new double[at.length];
    double[] heldOut = new double[at.length];
    SupportNative.start_steps(steps);
    try (Optimizer optimizer = Optimizer.adamw(model.parameters, rate);
        // One step on random stretches of the text: traced once, replayed after that. Each replay
        // draws new stretches.
        Trace step =
            new Trace(
                none -> {
                  Tensor starts = Tensor.integers(0, most - model.context, sequences, 1);
                  Tensor loss = model.meanLoss(text, starts);
                  loss.backward();
                  model.parameters.clipGradNorm(1);
                  optimizer.step();
                  model.parameters.zeroGrad();
                  return new Tensor[] {loss};
                })) {
      for (int i = 0; i < steps; i++) {
        double start = SupportNative.progress_seconds();
        optimizer.setLearningRate(
            Schedules.warmup(1, i, 100) * Schedules.cosine(rate, i, steps, rate / 10));
        double loss;
        try (Scope scope = Scope.open()) {
          loss = step.apply().item();
        }
        seconds += SupportNative.progress_seconds() - start;
        mean += (loss - mean) / (i % every + 1);
        if ((i + 1) % every == 0 || i + 1 == steps) {
          last = model.evaluate(unseen);
          at[looks] = i + 1;
          trainedOn[looks] = mean;
          heldOut[looks++] = last;
          mean = 0;
        }
        String seen = looks == 0 ? "" : String.format("  held out %.3f nats", last);
        SupportNative.show_step(i + 1, String.format("loss %.3f%s", loss, seen));
      }
    }
    SupportNative.end_steps();

    String out = options.out("gpt");
    model.parameters.save(out + ".safetensors");
    reloaded.parameters.load(out + ".safetensors");
    boolean same = reloaded.evaluate(unseen) == last;
    byte[] sample = reloaded.write(alphabet, options.count("length"), options.seed());
    System.out.writeBytes(sample);
    System.out.printf("%n%nheld out:    %.4f nats a character%n", last);
    System.out.printf("training:    %.3g ms a step%n", 1e3 * seconds / steps);
    System.out.printf(
        "weights:     %s.safetensors, %s%n", out, same ? "reloaded, the same" : "NOT THE SAME");
    SupportNative.page_open(out + ".html", "A small transformer learns to write", path);
    SupportNative.page_two_figures(
        "held out", String.format("%.3f nats a character", last),
        "training a step", String.format("%.3g ms", 1e3 * seconds / steps));
    SupportNative.page_losses(at, trainedOn, heldOut, looks);
    SupportNative.page_text("What it writes", sample, sample.length);
    if (SupportNative.page_close()) System.out.println("picture:     " + out + ".html");
    return same ? 0 : 1;
  }

  public static void main(String[] arguments) {
    Options options =
        new Options("Gpt")
            .add("text", null, "the text to learn from, plain or gzip")
            .add("steps", "3000", "training steps")
            .add("sequences", "32", "stretches of text a step")
            .add("rate", "0.002", "highest learning rate of AdamW")
            .add("every", "250", "steps between two looks at the held-out text")
            .add("blocks", "4", "attention blocks")
            .add("width", "128", "width of the network")
            .add("heads", "4", "heads of each attention")
            .add("context", "64", "characters that it sees")
            .add("length", "600", "characters of the sample");
    try {
      options.parse("Learns to write like a text, character by character.", arguments);
      System.exit(train(options));
    } catch (MTorchException error) {
      System.err.println("gpt: " + error.getMessage());
      System.exit(1);
    }
  }
}
