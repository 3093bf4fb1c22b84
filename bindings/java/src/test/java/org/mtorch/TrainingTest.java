// SPDX-License-Identifier: Apache-2.0
package org.mtorch;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.List;
import java.util.function.BiFunction;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TrainingTest {
  @Test
  void aLineThroughPoints() {
    Tensor x = Tensor.linspace(-1, 1, 64).reshape(64, 1);
    Tensor y = x.mul(3).add(1);
    Tensor w = Tensor.zeros(1, 1).requireGrad();
    Tensor b = Tensor.zeros(1).requireGrad();
    for (int step = 0; step < 200; step++) {
      try (Scope scope = Scope.open()) {
        x.matmul(w).add(b).sub(y).square().mean().backward();
        Optimizer.plainStep(0.3, w, b);
        w.zeroGrad();
        b.zeroGrad();
      }
    }
    assertEquals(3, w.item(), 1e-4);
    assertEquals(1, b.item(), 1e-4);
  }

  @Test
  void layersTakeMasksAndStates() {
    try (Scope scope = Scope.open();
        Parameters p = Parameters.create(DType.FLOAT64, null)) {
      Tensor x = Tensor.normal(0, 1, 2, 3, 4).astype(DType.FLOAT64);
      Tensor mask = Tensor.ones(3, 3).tril(0).astype(DType.BOOL);
      TransformerOptions options = new TransformerOptions().activation("silu(a)").hidden(5);
      Layer block = p.transformer("block", 4, 2, options);
      Layer causal = p.transformer("causal", 4, 2, options.causal(true));
      for (int i = 0; i < p.count(); i++) {
        if (p.name(i).startsWith("causal")) {
          p.get(i).assign(p.get(p.name(i).replace("causal", "block")).detach());
        }
      }
      double[] expected = causal.apply(x).toDoubleArray();
      assertArrayEquals(expected, block.attend(x, null, null, mask).toDoubleArray(), 1e-12);
      assertThrows(MTorchException.class, () -> block.attend(x, x, x, null));
      Layer lstm = p.lstm("lstm", 4, 5, 2, true);
      Tensor[] all = lstm.run(x, null, null);
      Tensor[] half = lstm.run(x.slice(1, 0, 2, 1), null, null);
      Tensor[] rest = lstm.run(x.slice(1, 2, 3, 1), half[1], half[2]);
      assertArrayEquals(all[2].toDoubleArray(), rest[2].toDoubleArray(), 1e-12);
      assertEquals(null, p.gru("gru", 4, 5, 2, true).run(x, null, null)[2]);
    }
  }

  @Test
  void layersAndFunctionsInSequence() {
    try (Scope scope = Scope.open();
        Parameters p = Parameters.create()) {
      Layer hidden = p.linear("hidden", 4, 3);
      Layer output = p.linear("output", 3, 2);
      Sequential network = new Sequential(x -> x.reshape(-1, 4), hidden, Tensor::relu, output);
      Tensor x = Tensor.normal(0, 1, 5, 2, 2);
      Tensor expected = output.apply(hidden.apply(x.reshape(5, 4)).relu());
      assertArrayEquals(expected.toFloatArray(), network.apply(x).toFloatArray());
      assertEquals(
          List.of("hidden.weight", "hidden.bias", "output.weight", "output.bias"),
          List.copyOf(p.tensors().keySet()));
      p.tensors().forEach((name, tensor) -> Init.uniform(tensor, 1, 1));
      assertEquals(12, p.get("hidden.weight").sum().item());
      Tensor labels = Tensor.of(new long[] {0, 1, 0, 1, 0});
      assertEquals(
          network.apply(x).crossEntropy(labels, 1, Reduction.MEAN).item(),
          network.apply(x).crossEntropy(labels, 1).item());
      assertArrayEquals(
          x.slice(0, 1, 3, 1).toFloatArray(), x.slice(0, 1, 3).toFloatArray());
      try (Trace trace = new Trace(in -> new Tensor[] {network.apply(in[0])})) {
        assertArrayEquals(network.apply(x).toFloatArray(), trace.apply(x).toFloatArray());
      }
      assertEquals(true, Devices.isAvailable("cpu"));
      assertEquals(false, Devices.isAvailable("nowhere"));
    }
  }

  @Test
  void attentionGoesOnFromWhatItKept() {
    try (NoGrad off = NoGrad.begin();
        Scope scope = Scope.open();
        Parameters p = Parameters.create(DType.FLOAT64, null)) {
      Layer block = p.transformer("block", 4, 2, new TransformerOptions().causal(true));
      Tensor x = Tensor.normal(0, 1, 2, 3, 4).astype(DType.FLOAT64);
      Tensor all = block.apply(x);
      Tensor kept = block.keptZeros(3, 2);
      for (long i = 0; i < 3; i++) {
        Tensor row = block.applyKept(x.slice(1, i, i + 1, 1), kept, Tensor.of(new long[] {i}));
        assertArrayEquals(
            all.slice(1, i, i + 1, 1).toDoubleArray(), row.toDoubleArray(), 1e-12);
      }
      Tensor full = Tensor.of(new long[] {3});
      MTorchException error =
          assertThrows(
              MTorchException.class, () -> block.applyKept(x.slice(1, 0, 1, 1), kept, full));
      assertEquals(ErrorCode.INDEX, error.code());
    }
  }

  @Test
  void everyOptimizerLearnsInATrace() {
    List<BiFunction<Parameters, Double, Optimizer>> all =
        List.of(
            (p, lr) -> Optimizer.sgd(p, lr, new SgdOptions().momentum(0.9).nesterov(true)),
            (p, lr) -> Optimizer.adam(p, lr, new AdamOptions().beta1(0.8)),
            (p, lr) -> Optimizer.adamw(p, lr),
            (p, lr) -> Optimizer.rmsprop(p, lr, new RmspropOptions().smoothing(0.9)),
            (p, lr) -> Optimizer.adagrad(p, 10 * lr, new AdagradOptions().initial(0.1)));
    for (var make : all) {
      Generator.seed(1);
      try (Scope scope = Scope.open();
          Parameters parameters = Parameters.create();
          Optimizer optimizer = make.apply(parameters, 0.01)) {
        parameters.count();
      }
      try (Scope scope = Scope.open();
          Parameters parameters = Parameters.create()) {
        Layer hidden = parameters.linear("hidden", 2, 16);
        Layer output = parameters.linear("output", 16, 1);
        Tensor x = Tensor.uniform(-1, 1, 64, 2);
        Tensor y = x.sumKeep(1);
        try (Optimizer optimizer = make.apply(parameters, 0.01);
            Trace step =
                new Trace(
                    in -> {
                      Tensor z = output.apply(hidden.apply(in[0]).relu());
                      Tensor loss = z.mseLoss(in[1], Reduction.MEAN);
                      loss.backward();
                      parameters.clipGradNorm(10);
                      optimizer.step();
                      parameters.zeroGrad();
                      return new Tensor[] {loss};
                    })) {
          double first = step.call(1, x, y)[0].item();
          double last = first;
          for (int i = 0; i < 150; i++) last = step.call(1, x, y)[0].item();
          assertTrue(last < first / 5, first + " to " + last);
          assertEquals(1, step.recordings());
          assertEquals(151, optimizer.steps());
          assertFalse(step.explain().isEmpty());
          try (Parameters state = optimizer.state()) {
            assertEquals(151, state.get("step").item());
            step.call(1, x, y);
            optimizer.setState(state);
            assertEquals(151, optimizer.steps());
            assertThrows(MTorchException.class, () -> optimizer.setState(parameters));
          }
          optimizer.setLearningRate(0.5);
          assertEquals(0.5, optimizer.learningRate());
        }
      }
    }
  }

  @Test
  void anOptimizerHasGroups() {
    try (Scope scope = Scope.open();
        Parameters some = Parameters.create();
        Parameters others = Parameters.create();
        Optimizer optimizer = Optimizer.sgd(some, 0.5)) {
      Tensor a = Tensor.ones(2);
      Tensor b = Tensor.ones(2);
      some.add("a", a);
      others.add("b", b);
      try (Optimizer group = Optimizer.sgd(others, 0.25, new SgdOptions().weightDecay(0.5))) {
        optimizer.add(group);
        assertThrows(MTorchException.class, () -> optimizer.add(group));
        group.setLearningRate(0.75);
        optimizer.setLearningRate(0);
        optimizer.setLearningRate(0.25);
        assertEquals(0.375, group.learningRate());
        group.setLearningRate(0.125);
      }
      a.add(b).sum().backward();
      optimizer.step();
      assertArrayEquals(new float[] {0.75f, 0.75f}, a.toFloatArray());
      assertArrayEquals(new float[] {0.8125f, 0.8125f}, b.toFloatArray());
      try (Parameters state = optimizer.state()) {
        assertTrue(state.has("proportion.1"));
      }
    }
  }

  @Test
  void layersHaveTheShapesTheySay() {
    try (Scope scope = Scope.open();
        Parameters p = Parameters.create()) {
      Tensor images = Tensor.ones(2, 3, 8, 8);
      ConvOptions same = new ConvOptions().padding(1).stride(2);
      Tensor y = p.conv2d("conv", 3, 4, 3, 3, same).apply(images);
      assertArrayEquals(new long[] {2, 4, 4, 4}, y.shape());
      y = p.convTranspose2d("up", 4, 3, 2, 2, new ConvOptions().stride(2)).apply(y);
      assertArrayEquals(new long[] {2, 3, 8, 8}, y.shape());
      y = p.batchNorm("norm", 3).apply(y);
      assertTrue(p.isBuffer(p.count() - 1) || p.has("norm.running_mean"));
      Tensor z = p.embedding("words", 10, 6).apply(Tensor.of(new long[] {1, 2, 3}, 1, 3));
      z = p.attention("attention", 6, 2, new AttentionOptions().causal(true)).apply(z);
      z = p.rmsNorm("rms", 6).apply(p.layerNorm("layer", 6).apply(z));
      assertArrayEquals(new long[] {1, 3, 6}, z.shape());
      Tensor steps = Tensor.ones(2, 5, 6);
      assertArrayEquals(new long[] {2, 5, 4}, p.rnn("rnn", 6, 4, 1, true).apply(steps).shape());
      assertArrayEquals(new long[] {2, 5, 4}, p.gru("gru", 6, 4, 2, false).apply(steps).shape());
      assertArrayEquals(new long[] {2, 5, 4}, p.lstm("lstm", 6, 4, 1, true).apply(steps).shape());
      for (Layer usual : List.of(p.rnn("a", 6, 4), p.gru("b", 6, 4), p.lstm("c", 6, 4))) {
        assertArrayEquals(new long[] {2, 5, 4}, usual.apply(steps).shape());
      }
      for (String name : List.of("a", "b", "c")) {
        assertTrue(p.has(name + ".bias_ih_l0"));
        assertFalse(p.has(name + ".weight_ih_l1"));
      }
      assertArrayEquals(
          new long[] {2, 6, 5}, p.groupNorm("groups", 3, 6).apply(Tensor.ones(2, 6, 5)).shape());
      Tensor twice = p.get("words.weight");
      p.embedding("others", 10, 6);
      p.share("others.weight", twice);
      Init.uniform(twice, 3, 3.5);
      assertEquals(0, p.get("others.weight").sub(twice).abs().sum().item());
      assertThrows(MTorchException.class, () -> p.share("others.weight", Tensor.ones(2)));
      p.to(DType.FLOAT64, "cpu:reference");
      assertEquals(DType.FLOAT64, p.get("words.weight").dtype());
      p.to(DType.FLOAT32, null);
      p.to(null, "cpu");
      assertEquals("cpu", p.get("words.weight").device());
      assertEquals(DType.FLOAT32, p.get("words.weight").dtype());
      assertThrows(MTorchException.class, () -> p.to(DType.INT32, null));
      Layer drop = p.dropout(0.5);
      p.setTraining(false);
      assertFalse(p.training());
      assertEquals(4, drop.apply(Tensor.ones(4)).sum().item());
      Tensor pooled =
          images.maxPool2d(2, 2).add(images.avgPool2d(2, 2, new PoolOptions().stride(2)));
      assertArrayEquals(new long[] {2, 3, 4, 4}, pooled.shape());
      assertThrows(MTorchException.class, () -> p.linear("conv.weight", 1, 1).apply(images));
      Init.uniform(p.get("words.weight"), 0, 0);
      assertEquals(0, p.get("words.weight").abs().sum().item());
    }
  }

  @Test
  void filesGoAround(@TempDir Path folder) {
    try (Scope scope = Scope.open();
        Parameters one = Parameters.create();
        Parameters two = Parameters.create()) {
      one.linear("a", 3, 2);
      two.linear("a", 3, 2);
      String path = folder.resolve("w\u00e4.safetensors").toString();
      one.save(path);
      two.load(path);
      assertArrayEquals(one.get(0).toFloatArray(), two.get("a.weight").toFloatArray());
      assertEquals("a.weight", one.name(0));
      assertEquals(2, Parameters.readSafetensors(path).count());
      one.saveNpz(folder.resolve("w.npz").toString(), true);
      assertEquals(2, Parameters.readNpz(folder.resolve("w.npz").toString()).count());
      String npy = folder.resolve("x.npy").toString();
      TensorFiles.saveNpy(Tensor.of(new int[] {1, 2, 3}), npy);
      assertArrayEquals(new int[] {1, 2, 3}, TensorFiles.readNpy(npy).toIntArray());
    }
  }

  @Test
  void twoNumbersAloneAreNoSizes() {
    assertThrows(MTorchException.class, () -> Tensor.normal(2, 3));
    assertThrows(MTorchException.class, () -> Tensor.uniform(2, 3));
    assertEquals(0, Tensor.normal(0, 1, DType.FLOAT32, null).ndim());
  }

  @Test
  void generatorsRepeatThemselves() {
    Generator generator = new Generator(7);
    generator.use();
    float[] first = Tensor.normal(0, 1, 5).toFloatArray();
    long key = generator.key();
    long counter = generator.counter();
    float[] second = Tensor.normal(0, 1, 5).toFloatArray();
    generator.setState(key, counter);
    assertArrayEquals(second, Tensor.normal(0, 1, 5).toFloatArray());
    Generator.seed(7);
    assertArrayEquals(first, Tensor.normal(0, 1, 5).toFloatArray());
    Generator.useOwn();
    assertEquals(1e-3, Schedules.warmup(1e-3, 10, 10));
    assertEquals(10, Tensor.permutation(5).sum().itemLong());
    assertEquals(0.25, Schedules.step(1, 2, 1, 0.5));
  }
}
