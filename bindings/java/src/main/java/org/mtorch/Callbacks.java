// SPDX-License-Identifier: Apache-2.0
package org.mtorch;

import java.nio.ByteBuffer;

/** What the native code calls. Handles come as numbers, each with an owner that is ours. */
final class Callbacks {
  private Callbacks() {}

  private static long[] call(TensorFunction function, long[] inputs, int count) {
    try (Scope scope = Scope.open()) {
      Tensor[] x = Tensor.ownAll(inputs);
      return handOver(function.apply(x), count);
    }
  }

  private static long[] callOperator(
      Function function, long[] inputs, long[] results, long[] gradients, int count) {
    try (Scope scope = Scope.open()) {
      Tensor[] x = Tensor.ownAll(inputs);
      Tensor[] found =
          results == null
              ? function.forward(x)
              : function.backward(x, Tensor.ownAll(results), Tensor.ownAll(gradients));
      return handOver(found, count);
    }
  }

  private static void callCell(CellCalls calls, long[] place, ByteBuffer[] memory) {
    calls.call(place, memory);
  }

  private static long[] handOver(Tensor[] results, int count) {
    int found = results == null ? 0 : results.length;
    if (found != count) {
      throw new MTorchException(
          ErrorCode.USER, "the function returned " + found + " tensors, " + count + " expected");
    }
    long[] handles = new long[count];
    for (int i = 0; i < count; i++) {
      if (results[i] != null) handles[i] = Native.hand_over(results[i]);
    }
    return handles;
  }
}
