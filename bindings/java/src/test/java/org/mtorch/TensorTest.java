// SPDX-License-Identifier: Apache-2.0
package org.mtorch;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.List;
import java.util.jar.JarFile;
import org.junit.jupiter.api.Test;

class TensorTest {
  private static MTorchException fails(ErrorCode code, Runnable action) {
    MTorchException error = assertThrows(MTorchException.class, action::run);
    assertEquals(code, error.code(), error.getMessage());
    return error;
  }

  @Test
  void arraysGoInAndOut() {
    assertArrayEquals(new float[] {1, 2, 3}, Tensor.of(new float[] {1, 2, 3}).toFloatArray());
    assertArrayEquals(new double[] {1, 2}, Tensor.of(new double[] {1, 2}).toDoubleArray());
    assertArrayEquals(new long[] {1L << 40}, Tensor.of(new long[] {1L << 40}).toLongArray());
    assertArrayEquals(new int[] {-7, 7}, Tensor.of(new int[] {-7, 7}).toIntArray());
    assertArrayEquals(new int[] {-7, 7}, Tensor.of(new short[] {-7, 7}).toIntArray());
    assertArrayEquals(new int[] {-7, 7}, Tensor.of(new byte[] {-7, 7}).toIntArray());
    boolean[] flags = {true, false};
    assertArrayEquals(flags, Tensor.of(flags).toBooleanArray());
    assertArrayEquals(new float[0], Tensor.of(new float[0]).toFloatArray());
    Tensor x = Tensor.of(new double[] {1, 2, 3, 4, 5, 6}, 2, 3);
    assertArrayEquals(new long[] {2, 3}, x.shape());
    assertEquals(DType.FLOAT64, x.dtype());
    assertEquals(3, x.dim(-1));
    assertEquals(2, x.ndim());
    assertEquals(6, x.size());
    assertEquals("cpu", x.device());
    assertArrayEquals(new int[] {1, 2, 3, 4, 5, 6}, x.toIntArray(), "converted");
    assertEquals(21, x.sum().item());
    assertEquals((1L << 60) + 1, Tensor.scalar((1L << 60) + 1).itemLong());
  }

  @Test
  void rowsAndRanges() {
    Tensor x = Tensor.of(new float[][] {{1, 2, 3}, {4, 5, 6}});
    assertArrayEquals(new long[] {2, 3}, x.shape());
    assertArrayEquals(new float[] {1, 2, 3, 4, 5, 6}, x.toFloatArray());
    assertArrayEquals(new double[] {1, 2}, Tensor.of(new double[][] {{1}, {2}}).toDoubleArray());
    assertArrayEquals(new long[] {1, 2}, Tensor.of(new long[][] {{1, 2}}).toLongArray());
    assertArrayEquals(new int[] {1, 2}, Tensor.of(new int[][] {{1, 2}}).toIntArray());
    assertArrayEquals(new long[] {0, 0}, Tensor.of(new int[0][]).shape());
    String message =
        fails(ErrorCode.SHAPE, () -> Tensor.of(new float[][] {{1}, {2, 3}})).getMessage();
    assertEquals("tensor: row 1 has 2 elements, not 1", message);
    assertArrayEquals(new long[] {2, 3, 4}, Tensor.arange(2, 5).toLongArray());
    assertArrayEquals(new float[] {0.5f, 1.5f}, Tensor.arange(0.5, 2).toFloatArray());
  }

  /** A program that imports both packages whole can write every name. */
  @Test
  void namesAreNotThoseOfJavaUtil() throws Exception {
    var jar = Path.of(Tensor.class.getProtectionDomain().getCodeSource().getLocation().toURI());
    try (JarFile file = new JarFile(jar.toFile())) {
      List<String> names =
          file.stream()
              .map(entry -> entry.getName())
              .filter(name -> name.matches("org/mtorch/\\w+\\.class"))
              .map(name -> name.replaceAll(".*/|\\.class", ""))
              .toList();
      assertTrue(names.contains("Tensor"));
      for (String name : names) {
        for (String other : List.of("java.util.", "java.io.", "java.lang.")) {
          assertThrows(ClassNotFoundException.class, () -> Class.forName(other + name));
        }
      }
    }
  }

  @Test
  void operandsMayBeNumbers() {
    Tensor x = Tensor.of(new float[] {1, 2});
    assertArrayEquals(new float[] {3.5f, 4.5f}, x.add(2.5).toFloatArray());
    assertArrayEquals(new float[] {3, 6}, x.mul(3).toFloatArray());
    assertEquals(DType.INT32, Tensor.of(new int[] {1}).mul(3).dtype());
    assertEquals(DType.FLOAT32, Tensor.of(new int[] {1}).mul(3.0).dtype());
    assertArrayEquals(new boolean[] {false, true}, x.greater(1).toBooleanArray());
    assertArrayEquals(new float[] {1, 1.5f}, x.clip(0.5, 1.5).toFloatArray());
    assertEquals(10, Tensor.expression("a * b + 1", x, x.add(1)).sum().item());
  }

  @Test
  void usualArgumentsMayBeLeftOut() {
    try (Scope scope = Scope.open()) {
      Tensor x = Tensor.of(new double[] {1, 3, 2, 6}, 2, 2);
      assertArrayEquals(new double[] {0.5, 1.5}, x.std(0).toDoubleArray());
      assertArrayEquals(new double[] {1, 2}, x.std(1).toDoubleArray());
      assertArrayEquals(new double[] {2, 8}, x.var(new long[] {1}, 1).toDoubleArray());
      assertEquals(3.5, x.var().item());
      assertArrayEquals(new double[] {4, 8}, x.norm(1, 1).toDoubleArray());
      assertEquals(12, x.norm(1).item());  // the order
      assertEquals(12, x.normKeep(1).item());
      assertEquals(Math.sqrt(50), x.norm().item(), 1e-12);
      assertArrayEquals(new double[] {1, 3, 2, 6}, x.sort().toDoubleArray());
      assertEquals(2, x.softmax().sum().item(), 1e-12);
      Tensor texts = Tensor.arange(0, 8, 1, DType.FLOAT64).square().reshape(2, 2, 2);
      Tensor targets = Tensor.of(new long[] {0, 1, 1, 1}, 2, 2);
      assertEquals(
          texts.crossEntropy(targets, -1, Reduction.MEAN).item(),
          texts.crossEntropy(targets).item());
      assertEquals(0, x.layerNorm(1).sum().item(), 1e-6);
      assertEquals(9, x.pad(new long[] {0, 0}, new long[] {1, 1}).size());
      assertThrows(NoSuchMethodException.class, () -> Tensor.class.getMethod("maskedSelect"));
    }
  }

  @Test
  void errorsNameTheOperatorAndTheShapes() {
    Tensor a = Tensor.zeros(2, 3);
    MTorchException error = fails(ErrorCode.SHAPE, () -> a.matmul(Tensor.zeros(4, 5)));
    assertTrue(error.getMessage().contains("[2,3] x [4,5]"), error.getMessage());
    fails(ErrorCode.INDEX, () -> a.sum(5));
    fails(ErrorCode.SHAPE, a::item);
    fails(ErrorCode.MISSING, () -> a.add((Tensor) null));
    fails(ErrorCode.SHAPE, () -> Tensor.of(new float[3], 2, 2));
    fails(ErrorCode.SHAPE, () -> a.pad(new long[] {1}, new long[] {1, 2}, 0));
    fails(ErrorCode.SHAPE, () -> Tensor.zeros(new long[20]));
    fails(ErrorCode.SHAPE, () -> Tensor.zeros(new long[200]));
    fails(ErrorCode.DEVICE, () -> a.toDevice("abacus"));
    fails(ErrorCode.IO, () -> TensorFiles.readNpy("/nowhere/a\u00e4\ud83d\ude00.npy"));
    MTorchException path =
        fails(ErrorCode.IO, () -> TensorFiles.readNpy("/nowhere/a\u00e4\ud83d\ude00.npy"));
    assertTrue(path.getMessage().contains("a\u00e4\ud83d\ude00.npy"), path.getMessage());
    fails(ErrorCode.INVALID, () -> TensorFiles.readNpy("a\0b"));
    fails(ErrorCode.INVALID, () -> a.toDevice("cpu\0"));
    assertEquals(0, a.sum().item(), "nothing is left pending");
  }

  @Test
  void whatIsClosedRefusesUse() {
    Tensor a = Tensor.ones(2);
    Tensor b = Tensor.ones(2);
    a.close();
    a.close();
    assertTrue(a.isClosed());
    fails(ErrorCode.INVALID, a::relu);
    fails(ErrorCode.INVALID, () -> b.add(a));
    fails(ErrorCode.INVALID, () -> Tensor.concat(0, b, a));
    fails(ErrorCode.INVALID, () -> b.index(Index.by(a)));
    assertEquals("closed tensor", a.toString());
    b.close();
    Parameters parameters = Parameters.create();
    Layer layer = parameters.linear("one", 2, 2);
    parameters.close();
    fails(ErrorCode.INVALID, () -> layer.apply(Tensor.ones(1, 2)));
    fails(ErrorCode.INVALID, parameters::count);
  }

  @Test
  void scopesCloseWhatWasMadeInThem() {
    Tensor inner;
    Tensor kept;
    Tensor outer;
    try (Scope first = Scope.open()) {
      outer = Tensor.ones(3);
      try (Scope second = Scope.open()) {
        inner = outer.add(1);
        kept = inner.mul(2).keep();
      }
      assertTrue(inner.isClosed());
      assertFalse(outer.isClosed());
      Scope.open(); // never closed by itself
      inner = outer.add(1);
    }
    assertTrue(outer.isClosed());
    assertTrue(inner.isClosed());
    assertEquals(12, kept.sum().item());
    Tensor after = Tensor.ones(1);
    assertFalse(after.isClosed(), "no scope is open any more");
  }

  @Test
  void indexingFollowsNumpy() {
    Tensor x = Tensor.arange(0, 12, 1, DType.FLOAT32).reshape(3, 4);
    assertArrayEquals(
        new float[] {8, 10}, x.index(Index.at(-1), Index.range(0, Index.OPEN, 2)).toFloatArray());
    Tensor rows = Tensor.of(new long[] {2, 0});
    assertArrayEquals(new float[] {8, 0}, x.index(Index.by(rows), Index.at(0)).toFloatArray());
    x.indexPut(Tensor.scalar(-1), Index.at(0));
    assertEquals(56, x.sum().item());
    Tensor[] best = Tensor.of(new float[] {3, 9, 4}).topk(2, -1, true);
    assertArrayEquals(new float[] {9, 4}, best[0].toFloatArray());
    assertArrayEquals(new long[] {1, 2}, best[1].toLongArray());
    assertEquals(2, x.split(0, 1, 2)[1].dim(0));
    Tensor[] unique = Tensor.of(new float[] {2, 1, 2}).uniqueAll();
    assertArrayEquals(new long[] {1, 2}, unique[3].toLongArray());
    assertArrayEquals(new long[] {3, 4}, x.nonzero().dim(1) == 2 ? x.shape() : null);
  }

  @Test
  void decompositionsMultiplyBack() {
    Tensor x = Tensor.of(new float[] {2, 1, 1, 3}, 2, 2);
    Tensor[] qr = x.qr(false);
    Tensor[] svd = x.svd(true);
    Tensor[] eigh = x.eigh();
    Tensor[] log = x.slogdet();
    Tensor lower = x.cholesky(false);
    for (Tensor back :
        new Tensor[] {
          qr[0].matmul(qr[1]),
          svd[0].mul(svd[1]).matmul(svd[2]),
          eigh[1].mul(eigh[0]).matmul(eigh[1].matrixTranspose()),
          lower.matmul(lower.matrixTranspose()),
          x.inv().inv(),
          x.pinv().pinv()
        }) {
      assertArrayEquals(new float[] {2, 1, 1, 3}, back.toFloatArray(), 1e-5f);
    }
    assertEquals(Math.log(x.det().item()), log[0].mul(log[1]).item(), 1e-5);
    assertEquals(2, x.matrixRank().item());
    assertEquals(4, x.matrixNorm("inf").item(), 1e-5);
    assertArrayEquals(
        new float[] {1, 1}, x.solve(Tensor.of(new float[] {3, 4})).toFloatArray(), 1e-5f);
    fails(ErrorCode.INVALID, () -> Tensor.zeros(2, 2).inv());
  }

  @Test
  void isMadeOnADevice() {
    String device = "cpu:reference";
    Generator.seed(4);
    Tensor here = Tensor.normal(0, 1, 5);
    Generator.seed(4);
    Tensor there = Tensor.normal(0, 1, DType.FLOAT32, device, 5);
    assertArrayEquals(here.toFloatArray(), there.toFloatArray(), 1e-6f);
    for (Tensor x :
        new Tensor[] {
          there,
          Tensor.zeros(DType.INT32, device, 2, 3),
          Tensor.ones(DType.FLOAT64, device),
          Tensor.full(3, DType.INT8, device, 4),
          Tensor.arange(0, 3, 1, DType.INT64, device),
          Tensor.linspace(0, 1, 3, DType.FLOAT32, device),
          Tensor.eye(2, 3, 0, DType.BOOL, device),
          Tensor.uniform(0, 1, DType.FLOAT16, device, 2),
          Tensor.integers(0, 4, DType.UINT8, device, 2),
          Tensor.bernoulli(0.5, DType.BOOL, device, 2),
          Tensor.permutation(3, device),
          Tensor.of(new int[] {1, 2}).toDevice(device)
        }) {
      assertEquals(device, x.device());
    }
    fails(ErrorCode.DEVICE, () -> Tensor.zeros(DType.FLOAT32, "none", 2));
  }

  @Test
  void assigningBindsTheObject() {
    Tensor x = Tensor.zeros(2);
    x.assign(Tensor.ones(2));
    assertEquals(2, x.sum().item());
    assertEquals("[1. 1.]", x.toString());
    assertEquals(DType.FLOAT32, DType.promote(DType.INT8, DType.FLOAT32));
    assertEquals(2, DType.BFLOAT16.bytes());
    assertTrue(Devices.names().length >= 2);
    assertFalse(x.explain().isEmpty());
  }
}
