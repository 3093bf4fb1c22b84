// SPDX-License-Identifier: Apache-2.0
package org.mtorch;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class KernelTest {
  private static final Kernel TWICE =
      new Kernel(
          "twice",
          (cell, in, out, numbers) -> {
            long i = cell.x();
            if (i < out[0].size()) out[0].set(i, 2 * in[0].get(i));
          });

  private static Tensor twice(Tensor x) {
    long n = x.size();
    return TWICE.run(new Launch(Math.max(1, (n + 3) / 4)).block(4).result(x.dtype(), x.shape()), x);
  }

  @Test
  void everyCellWritesItsPart() {
    try (Scope scope = Scope.open()) {
      Tensor x = Tensor.arange(0, 10, 1, DType.FLOAT64);
      assertArrayEquals(x.mul(2).toDoubleArray(), twice(x).toDoubleArray());
      assertArrayEquals(new long[] {2, 5}, twice(x.reshape(2, 5).astype(DType.INT32)).shape());
      Tensor turned = Tensor.arange(0, 6, 1, DType.FLOAT32).reshape(2, 3).transpose(0, 1);
      assertArrayEquals(turned.mul(2).toFloatArray(), twice(turned).toFloatArray());
      assertEquals(0, twice(Tensor.zeros(1).slice(0, 0, 0, 1).add(1).reshape(0, 1)).size());
    }
  }

  @Test
  void placesNumbersAndSeveralResults() {
    Kernel kernel =
        new Kernel(
            "places",
            (cell, in, out, numbers) -> {
              assertEquals(0, in.length);
              assertEquals(new Cell.Place(2, 3, 1), cell.gridSize());
              assertEquals(new Cell.Place(1, 2, 2), cell.blockSize());
              long i = (cell.z() * 6 + cell.y()) * 2 + cell.x();
              out[0].set(i, numbers[0] * i);
              out[1].setLong(i, i % 2);
            });
    try (Scope scope = Scope.open()) {
      Launch launch = new Launch(2, 3).block(1, 2, 2).numbers(0.5).device("cpu");
      Tensor[] results =
          kernel.runAll(launch.result(DType.FLOAT32, 2, 6, 2).result(DType.BOOL, 24));
      float[] expected = new float[24];
      for (int i = 0; i < 24; i++) expected[i] = 0.5f * i;
      assertArrayEquals(expected, results[0].toFloatArray());
      assertEquals(12, results[1].astype(DType.INT64).sum().item());
      assertThrows(MTorchException.class, () -> kernel.run(launch));
    }
  }

  @Test
  void elementsOfEveryType() {
    try (Scope scope = Scope.open()) {
      for (DType dtype : DType.values()) {
        Tensor x = Tensor.of(new double[] {0, 1, 100}).astype(dtype);
        boolean half = dtype == DType.FLOAT16 || dtype == DType.BFLOAT16;
        Kernel copy =
            new Kernel(
                "copy",
                (cell, in, out, numbers) -> {
                  assertEquals(dtype, in[0].dtype());
                  for (int i = 0; i < 3; i++) {
                    out[0].setLong(i, in[0].getLong(i));
                    if (!half) out[0].set(i, in[0].get(i));
                  }
                  if (half) assertThrows(MTorchException.class, () -> in[0].get(0));
                });
        Tensor y = copy.run(new Launch(1).result(dtype, 3), x);
        assertArrayEquals(
            x.astype(DType.FLOAT64).toDoubleArray(), y.astype(DType.FLOAT64).toDoubleArray());
      }
      Kernel extremes =
          new Kernel(
              "extremes",
              (cell, in, out, numbers) -> {
                assertEquals(4294967295L, in[0].getLong(0));
                assertEquals(255, in[1].get(0));
                assertEquals(-1, in[2].get(0));
                out[0].set(0, in[0].get(0));
              });
      Tensor minus = Tensor.of(new long[] {-1});
      Launch launch = new Launch(1).result(DType.UINT32, 1);
      Tensor largest = minus.astype(DType.UINT32);
      Tensor y = extremes.run(launch, largest, minus.astype(DType.UINT8), minus.astype(DType.INT8));
      assertArrayEquals(largest.toLongArray(), y.toLongArray());
    }
  }

  @Test
  void unsignedLongsAndWhatIsBeyondAType() {
    double[] values = {3e10, -3e10, -1.5, 0x1p63 + 2048, 0x1p64, Double.NaN};
    Kernel write =
        new Kernel("write", (at, in, out, numbers) -> out[0].set(at.x(), numbers[(int) at.x()]));
    Kernel read =
        new Kernel("read", (at, in, out, numbers) -> out[0].set(at.x(), in[0].get(at.x())));
    try (Scope scope = Scope.open()) {
      for (DType dtype : List.of(DType.INT8, DType.INT16, DType.INT32, DType.INT64)) {
        long[] expected = new long[values.length];
        for (int i = 0; i < values.length; i++) {
          double x = values[i];
          expected[i] =
              switch (dtype) {
                case INT8 -> (byte) x;
                case INT16 -> (short) x;
                case INT32 -> (int) x;
                default -> (long) x;
              };
        }
        Tensor y = write.run(new Launch(6).numbers(values).device("cpu").result(dtype, 6));
        assertArrayEquals(expected, y.astype(DType.INT64).toLongArray());
      }
      Launch launch = new Launch(6).numbers(values).device("cpu");
      Tensor large = write.run(launch.result(DType.UINT64, 6));
      long[] bits = {30000000000L, -30000000000L, -1, Long.MIN_VALUE + 2048, -1, 0};
      assertArrayEquals(bits, large.astype(DType.INT64).toLongArray());
      Tensor same = read.run(new Launch(6).result(DType.FLOAT64, 6), large);
      double[] seen = {3e10, 0x1p64 - 3e10, 0x1p64, 0x1p63 + 2048, 0x1p64, 0};
      for (int i = 0; i < 6; i++) {
        double rounded = new java.math.BigInteger(Long.toUnsignedString(bits[i])).doubleValue();
        assertEquals(rounded, same.toDoubleArray()[i]);
        assertEquals(seen[i], rounded, 4096);
      }
    }
  }

  @Test
  void aCellThatWritesItsNumbersChangesNoOtherCall() {
    Kernel adding =
        new Kernel(
            "adding",
            (cell, in, out, numbers) -> out[0].set(cell.x(), in[0].get(0) + numbers[0]++));
    Launch launch = new Launch(2).numbers(5).result(DType.FLOAT32, 2);
    float[] expected = {5, 6};
    try (Scope scope = Scope.open();
        Trace trace = new Trace(in -> new Tensor[] {adding.run(launch, in[0])})) {
      Tensor x = Tensor.zeros(1);
      for (int i = 0; i < 3; i++) {
        assertArrayEquals(expected, adding.run(launch, x).toFloatArray());
        assertArrayEquals(expected, trace.call(1, x)[0].toFloatArray());
      }
    }
  }

  @Test
  void exceptionsComeOutAsThemselves() {
    RuntimeException thrown = new IllegalStateException("mine");
    List<Elements> kept = new ArrayList<>();
    Kernel failing =
        new Kernel(
            "failing",
            (cell, in, out, numbers) -> {
              kept.add(in[0]);
              if (cell.x() == 3) throw thrown;
            });
    Kernel outside = new Kernel("outside", (cell, in, out, numbers) -> out[0].set(2, 1));
    Kernel writing = new Kernel("writing", (cell, in, out, numbers) -> in[0].set(0, 1));
    try (Scope scope = Scope.open()) {
      Tensor x = Tensor.ones(2);
      Launch launch = new Launch(8).result(DType.FLOAT32, 2);
      assertSame(
          thrown, assertThrows(IllegalStateException.class, () -> failing.run(launch, x)));
      assertEquals(4, kept.size());
      assertThrows(IllegalStateException.class, () -> kept.get(0).get(0));
      assertThrows(IndexOutOfBoundsException.class, () -> outside.run(launch, x));
      assertThrows(java.nio.ReadOnlyBufferException.class, () -> writing.run(launch, x));
      assertArrayEquals(new float[] {2, 2}, twice(x).toFloatArray());
      MTorchException error =
          assertThrows(
              MTorchException.class,
              () -> TWICE.run(new Launch(0).result(DType.FLOAT32, 2), x));
      assertEquals(ErrorCode.INVALID, error.code());
      assertThrows(MTorchException.class, () -> new Kernel("nothing", null, null));
      assertThrows(MTorchException.class, () -> new Launch(1, 1, 1, 1));
      Kernel unnamed = new Kernel("no name", (cell, in, out, numbers) -> {});
      assertThrows(MTorchException.class, () -> unnamed.run(launch, x));
      x.close();
      assertThrows(MTorchException.class, () -> twice(x));
    }
  }

  @Test
  void whatACudaTextAloneCannotDo() {
    try (Scope scope = Scope.open();
        Kernel text = new Kernel("f", "__global__ void f(float* out) { out[0] = 1; }");
        Kernel both = new Kernel("f", (cell, in, out, numbers) -> out[0].set(0, 7), "text")) {
      Launch launch = new Launch(1).result(DType.FLOAT32, 1);
      MTorchException error = assertThrows(MTorchException.class, () -> text.run(launch));
      assertEquals(ErrorCode.UNSUPPORTED, error.code());
      assertEquals(7, both.run(launch).item());
    }
  }

  @Test
  void isReplayedAndHasAGradientWithinAFunction() throws Exception {
    Function cube =
        new Function() {
          private final Kernel kernel =
              new Kernel(
                  "cube",
                  (cell, in, out, numbers) -> {
                    double x = in[0].get(cell.x());
                    out[0].set(cell.x(), numbers[0] == 0 ? x * x * x : 3 * x * x);
                  });

          private Tensor run(Tensor x, double order) {
            Launch launch = new Launch(x.size()).numbers(order);
            return kernel.run(launch.result(DType.FLOAT32, x.shape()), x);
          }

          @Override
          public Tensor[] forward(Tensor[] inputs) {
            return new Tensor[] {run(inputs[0], 0)};
          }

          @Override
          public Tensor[] backward(Tensor[] inputs, Tensor[] results, Tensor[] gradients) {
            return new Tensor[] {run(inputs[0], 1).mul(gradients[0])};
          }
        };
    try (Scope scope = Scope.open();
        Trace trace = new Trace(in -> new Tensor[] {twice(in[0]).add(1)})) {
      Tensor x = Tensor.of(new float[] {1, 2, 3}).requireGrad();
      cube.apply(x).sum().backward();
      assertArrayEquals(new float[] {3, 12, 27}, x.gradient().toFloatArray());
      for (int i = 0; i < 3; i++) {
        assertEquals(2 * i + 1, trace.call(1, Tensor.of(new float[] {i}))[0].item());
      }
      // Several threads call it at once, each with memory of its own.
      List<Throwable> failures = new ArrayList<>();
      List<Thread> threads = new ArrayList<>();
      for (int t = 0; t < 4; t++) {
        float value = t;
        threads.add(
            new Thread(
                () -> {
                  try (Scope own = Scope.open()) {
                    for (int i = 0; i < 50; i++) {
                      Tensor y = twice(Tensor.full(value, DType.FLOAT32, 8));
                      assertEquals(16 * value, y.sum().item());
                    }
                  } catch (Throwable failure) {
                    synchronized (failures) {
                      failures.add(failure);
                    }
                  }
                }));
      }
      for (Thread thread : threads) thread.start();
      for (Thread thread : threads) thread.join();
      assertTrue(failures.isEmpty(), failures.toString());
    }
  }
}
