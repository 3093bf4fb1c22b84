// SPDX-License-Identifier: Apache-2.0
package org.mtorch;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class GradientTest {
  private static Tensor leaf(double... values) {
    return Tensor.of(values).requireGrad();
  }

  @Test
  void ofLeavesAndAsAFunction() {
    Tensor x = leaf(1, 2);
    assertNull(x.gradient());
    x.square().sum().backward();
    assertArrayEquals(new double[] {2, 4}, x.gradient().toDoubleArray());
    x.zeroGrad();
    assertNull(x.gradient());
    Tensor[] first = Gradients.grad(new Tensor[] {x.pow(3).sum()}, x);
    Tensor[] second = Gradients.grad(new Tensor[] {first[0].sum()}, x);
    assertArrayEquals(new double[] {6, 12}, second[0].toDoubleArray());
    Tensor weight = Tensor.of(new double[] {10, 100});
    Tensor[] weighted =
        Gradients.grad(new Tensor[] {x.square()}, new Tensor[] {weight}, new Tensor[] {x});
    assertArrayEquals(new double[] {20, 400}, weighted[0].toDoubleArray());
    try (NoGrad off = NoGrad.begin()) {
      assertFalse(x.square().requiresGrad());
    }
    assertTrue(x.square().requiresGrad());
    assertTrue(x.isLeaf());
    assertFalse(x.detach().requiresGrad());
  }

  @Test
  void functionsAreCheckedAndCheckpointed() {
    Tensor x = Tensor.of(new double[] {0.3, -0.4});
    Gradients.check(in -> new Tensor[] {in[0].tanh()}, 2, x);
    Tensor leaf = leaf(1, 2);
    Tensor y = Gradients.checkpoint(in -> new Tensor[] {in[0].exp().square()}, 1, leaf)[0];
    y.sum().backward();
    assertEquals(2 * Math.exp(4), leaf.gradient().toDoubleArray()[1], 1e-9);
  }

  static class Twice implements Function {
    @Override
    public Tensor[] forward(Tensor[] inputs) {
      return new Tensor[] {inputs[0].mul(2)};
    }

    @Override
    public Tensor[] backward(Tensor[] inputs, Tensor[] results, Tensor[] gradients) {
      assertEquals(2 * inputs[0].sum().item(), results[0].sum().item(), 1e-9);
      return new Tensor[] {gradients[0].mul(7)}; // wrong, to tell it from 2
    }
  }

  @Test
  void anOperatorHasItsOwnGradient() {
    Tensor x = leaf(3, 4);
    Tensor y = new Twice().apply(x);
    assertArrayEquals(new double[] {6, 8}, y.toDoubleArray());
    y.sum().backward();
    assertArrayEquals(new double[] {7, 7}, x.gradient().toDoubleArray());
    Function pair =
        new Function() {
          @Override
          public Tensor[] forward(Tensor[] inputs) {
            return new Tensor[] {inputs[0].add(inputs[1]), inputs[0].sub(inputs[1])};
          }
        };
    Tensor[] both = pair.apply(2, x, x);
    assertEquals(14, both[0].sum().item());
    MTorchException error =
        assertThrows(MTorchException.class, () -> both[1].sum().backward());
    assertEquals(ErrorCode.NO_GRADIENT, error.code(), error.getMessage());
  }

  @Test
  void exceptionsInCallbacksComeOutAsThemselves() {
    class Mine extends RuntimeException {
      private static final long serialVersionUID = 1;
    }
    Mine mine = new Mine();
    Tensor x = leaf(1);
    TensorFunction fails =
        in -> {
          throw mine;
        };
    assertSame(mine, assertThrows(Mine.class, () -> Gradients.checkpoint(fails, 1, x)));
    assertSame(mine, assertThrows(Mine.class, () -> new Trace(fails).call(1, x)));
    Function operator =
        new Function() {
          @Override
          public Tensor[] forward(Tensor[] inputs) {
            return inputs;
          }

          @Override
          public Tensor[] backward(Tensor[] inputs, Tensor[] results, Tensor[] gradients) {
            throw mine;
          }
        };
    assertSame(mine, assertThrows(Mine.class, () -> operator.apply(x).backward()));
    MTorchException count =
        assertThrows(
            MTorchException.class, () -> Gradients.checkpoint(in -> new Tensor[0], 1, x));
    assertEquals(ErrorCode.USER, count.code());
    MTorchException shape =
        assertThrows(
            MTorchException.class,
            () ->
                Gradients.checkpoint(
                    in -> new Tensor[] {in[0].matmul(Tensor.ones(5, 5))}, 1, x));
    assertEquals(ErrorCode.SHAPE, shape.code(), shape.getMessage());
    assertThrows(Mine.class, () -> new Trace(in -> { // an exception through two callbacks
      return Gradients.checkpoint(fails, 1, in);
    }).call(1, x));
    assertEquals(1, x.sum().item(), "nothing is left pending");
  }

  @Test
  void callbacksFreeWhatTheyMake() {
    Tensor[] seen = new Tensor[2];
    Tensor y =
        Gradients.checkpoint(
            in -> {
              seen[0] = in[0];
              seen[1] = in[0].exp();
              return new Tensor[] {seen[1]};
            },
            1,
            Tensor.ones(3))[0];
    assertEquals(3 * Math.E, y.sum().item(), 1e-5);
    assertTrue(seen[0].isClosed());
    assertTrue(seen[1].isClosed());
  }

  @Test
  void tapesAreReadDifferentiatedAndReplayed() {
    Tensor x = Tensor.of(new float[] {2});
    Tape tape = Tape.begin();
    Tensor y = x.mul(x).exp();
    tape.end();
    long last = tape.length() - 1;
    assertEquals("exp", tape.operator(last));
    assertEquals(last, tape.find(y));
    assertArrayEquals(new long[] {last - 1}, tape.inputs(last));
    assertArrayEquals(new long[] {1}, tape.shape(last));
    assertEquals(DType.FLOAT32, tape.dtype(last));
    assertEquals(y.item(), tape.tensor(last).item());
    assertEquals(4 * Math.exp(4), tape.gradient(y, x)[0].item(), 1e-3);
    Tensor[] again =
        tape.replay(new Tensor[] {x}, new Tensor[] {Tensor.of(new float[] {1})}, y);
    assertEquals(Math.E, again[0].item(), 1e-6);
    assertTrue(tape.toString().contains("exp"));
    assertTrue(tape.toDot().contains("digraph"));
    assertThrows(MTorchException.class, () -> tape.operator(99));
    tape.close();
    assertThrows(MTorchException.class, tape::length);
  }

  @Test
  void profilesCountWhatRuns(@TempDir Path folder) throws IOException {
    try (Profile profile = Profile.start()) {
      assertThrows(MTorchException.class, Profile::start);
      Tensor.ones(2, 3).matmul(Tensor.ones(3, 4)).sum().item();
      profile.stop();
      assertTrue(profile.text().contains("contraction 2 x 4 x 3"), profile.text());
      Path file = folder.resolve("profile.json");
      profile.save(file);
      assertTrue(Files.readString(file).contains("traceEvents"));
    }
  }
}
