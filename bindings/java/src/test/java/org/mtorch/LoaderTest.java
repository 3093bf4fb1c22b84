// SPDX-License-Identifier: Apache-2.0
package org.mtorch;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class LoaderTest {
  private static long[] epoch(Loader loader) {
    List<Long> rows = new ArrayList<>();
    for (Tensor[] batch : loader) {
      try (Scope scope = Scope.open()) {
        long[] own = batch[0].toLongArray();
        assertArrayEquals(batch[0].mul(2).toLongArray(), batch[1].toLongArray());
        for (long row : own) rows.add(row);
      }
    }
    return rows.stream().mapToLong(Long::longValue).toArray();
  }

  @Test
  void theSeedAloneDecides() {
    Generator.seed(5);
    long[] expected = Tensor.permutation(23).toLongArray(); // what a generator of it draws first
    Tensor x = Tensor.arange(0, 23, 1, DType.INT64);
    Tensor y = x.mul(2);
    for (long ahead : new long[] {0, 2}) {
      LoaderOptions options = new LoaderOptions().shuffle(true).seed(5).prefetch(ahead);
      try (Loader loader = Loader.of(4, options, x, y)) {
        assertEquals(6, loader.batches());
        assertArrayEquals(expected, epoch(loader));
        assertEquals(1, loader.epoch());
        long[] second = epoch(loader);
        loader.seek(1, 2);
        assertEquals(second[8], loader.next()[0].toLongArray()[0]);
        assertEquals(3, loader.position());
      }
    }
    try (Loader loader = Loader.of(4, new LoaderOptions().dropLast(true).device("cpu"), x)) {
      assertEquals(5, loader.batches());
    }
  }

  @Test
  void whatCannotBeIsAnException() {
    Tensor x = Tensor.ones(3);
    assertThrows(MTorchException.class, () -> Loader.of(4, x, Tensor.ones(4)));
    Loader loader = Loader.of(2, x);
    assertThrows(MTorchException.class, () -> loader.seek(0, 2));
    loader.close();
    assertTrue(assertThrows(MTorchException.class, loader::next).getMessage().contains("closed"));
  }

  @Test
  void itsThreadEndsWithIt() {
    Tensor x = Tensor.ones(100, 3);
    for (int i = 0; i < 100; i++) {
      try (Loader loader = Loader.of(8, new LoaderOptions().shuffle(true).prefetch(3), x)) {
        for (int k = 0; k < i % 4; k++) {
          for (Tensor part : loader.next()) part.close();
        }
      }
    }
  }
}
