// SPDX-License-Identifier: Apache-2.0
package org.mtorch;

import java.nio.ByteBuffer;

/** A function of cells and what one call of its kernel hands to it, as the native code calls it. */
final class CellCalls {
  private final Kernel.Cells function;
  private final Kernel.Form[] inputs;
  private final Kernel.Form[] results;
  private final double[] numbers;
  // A replay runs on its caller's thread, and there may be several.
  private final ThreadLocal<Elements[][]> memory = new ThreadLocal<>();

  CellCalls(
      Kernel.Cells function, Kernel.Form[] inputs, Kernel.Form[] results, double[] numbers) {
    this.function = function;
    this.inputs = inputs;
    this.results = results;
    this.numbers = numbers;
  }

  // `buffers` are of the inputs and then of the results, for the first cell; else null.
  void call(long[] place, ByteBuffer[] buffers) {
    Cell cell = Cell.of(place);
    if (buffers != null) {
      memory.set(
          new Elements[][] {view(inputs, buffers, 0), view(results, buffers, inputs.length)});
    }
    Elements[][] seen = memory.get();
    boolean over = true;
    try {
      function.compute(cell, seen[0], seen[1], numbers);
      over = cell.isLast();
    } finally {
      if (over) close(seen);
    }
  }

  private void close(Elements[][] seen) {
    for (Elements[] some : seen) {
      for (Elements elements : some) elements.close();
    }
    memory.remove();
  }

  private Elements[] view(Kernel.Form[] forms, ByteBuffer[] buffers, int first) {
    Elements[] views = new Elements[forms.length];
    for (int i = 0; i < views.length; i++) {
      views[i] = new Elements(forms[i], buffers[first + i], forms == results);
    }
    return views;
  }
}
