// SPDX-License-Identifier: Apache-2.0
package org.mtorch;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

/** The heap is 256 MB here: what is lost shows. */
class LeakTest {
  private static long residentMegabytes() throws IOException {
    for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
      if (line.startsWith("VmRSS:")) return Long.parseLong(line.replaceAll("\\D", "")) >> 10;
    }
    throw new IOException("no VmRSS");
  }

  @Test
  void aMillionOperationsInScopes() throws IOException {
    Tensor x = Tensor.ones(16);
    long used = Devices.memoryUsed("cpu");
    long before = residentMegabytes();
    for (int i = 0; i < 10_000; i++) {
      try (Scope scope = Scope.open()) {
        Tensor y = x;
        for (int j = 0; j < 100; j++) y = y.add(x);
        if (i % 100 == 0) assertEquals(16 * 101, y.sum().item());
      }
    }
    assertTrue(Devices.memoryUsed("cpu") <= used);
    assertTrue(residentMegabytes() - before < 200, "grew by " + (residentMegabytes() - before));
  }

  @Test
  void aMillionOperationsThatNobodyCloses() throws IOException {
    Tensor x = Tensor.ones(16);
    long settled = 0; // once heap and caches have grown to what they need
    for (int i = 0; i < 1_000_000; i++) {
      x.add(x);
      if (i == 250_000) settled = residentMegabytes();
    }
    long grown = residentMegabytes() - settled;
    assertTrue(grown < 200, "grew by " + grown);
  }

  @Test
  void largeTensorsThatNobodyCloses() {
    Devices.resetMemoryPeak("cpu");
    for (int i = 0; i < 1000; i++) Tensor.ones(1 << 20).eval(); // 4 GB in all
    long peak = Devices.memoryPeak("cpu");
    assertTrue(peak < 2L << 30, "at most " + peak);
  }

  @Test
  void callbacksAndBuffers() throws IOException {
    Tensor x = Tensor.ones(1024).requireGrad();
    long before = residentMegabytes();
    for (int i = 0; i < 20_000; i++) {
      try (Scope scope = Scope.open()) {
        new GradientTest.Twice() {}.apply(x.astype(DType.FLOAT64)).sum().backward();
        x.zeroGrad();
        assertEquals(1, x.toFloatBuffer().get(7));
      }
    }
    assertTrue(residentMegabytes() - before < 300, "grew by " + (residentMegabytes() - before));
  }
}
