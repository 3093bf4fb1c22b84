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
  private final ThreadLocal<Call> calls = new ThreadLocal<>();

  // What the cells of one call see; their own numbers too, as a cell may write them.
  private record Call(Elements[] inputs, Elements[] results, double[] numbers) {
    void close() {
      for (Elements elements : inputs) elements.close();
      for (Elements elements : results) elements.close();
    }
  }

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
      Elements[] read = view(inputs, buffers, 0);
      Elements[] written = view(results, buffers, inputs.length);
      calls.set(new Call(read, written, numbers.clone()));
    }
    Call seen = calls.get();
    boolean over = true;
    try {
      function.compute(cell, seen.inputs, seen.results, seen.numbers);
      over = cell.isLast();
    } finally {
      if (over) {
        seen.close();
        calls.remove();
      }
    }
  }

  private Elements[] view(Kernel.Form[] forms, ByteBuffer[] buffers, int first) {
    Elements[] views = new Elements[forms.length];
    for (int i = 0; i < views.length; i++) {
      views[i] = new Elements(forms[i], buffers[first + i], forms == results);
    }
    return views;
  }
}
