// SPDX-License-Identifier: Apache-2.0
package org.mtorch;

import java.util.Arrays;

/** Lists of sizes and axes. */
final class Shapes {
  private Shapes() {}

  /** Two lists of one length, one after the other. */
  static long[] join(String name, long[] first, long[] second) {
    if (first.length != second.length) {
      throw new MTorchException(
          ErrorCode.SHAPE, name + ": lists of " + first.length + " and " + second.length);
    }
    long[] both = Arrays.copyOf(first, 2 * first.length);
    System.arraycopy(second, 0, both, first.length, second.length);
    return both;
  }

  /** Refuses an array that has another number of elements than the shape. */
  static void check(long count, long[] shape) {
    long wanted = 1;
    for (long size : shape) wanted *= size;
    if (wanted != count) {
      throw new MTorchException(
          ErrorCode.SHAPE, "tensor: " + count + " elements for " + Arrays.toString(shape));
    }
  }
}
