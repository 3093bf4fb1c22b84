// SPDX-License-Identifier: Apache-2.0
package org.mtorch;

/**
 * One item of an index, by NumPy's rules: {@code x.index(Index.at(0), Index.ALL, Index.range(0,
 * 5))}.
 */
public final class Index {
  /** A whole axis. */
  public static final Index ALL = range(Long.MIN_VALUE, Long.MIN_VALUE, 1);

  /** A new axis of size 1. */
  public static final Index NEW_AXIS = new Index(2, 0, 0, 0, null);

  /** All axes that no other item names; at most one. */
  public static final Index ELLIPSIS = new Index(3, 0, 0, 0, null);

  /** An end of a range that is left open. */
  public static final long OPEN = Long.MIN_VALUE;

  private final int kind;
  private final long start;
  private final long stop;
  private final long step;
  private final Tensor tensor;

  private Index(int kind, long start, long stop, long step, Tensor tensor) {
    this.kind = kind;
    this.start = start;
    this.stop = stop;
    this.step = step;
    this.tensor = tensor;
  }

  /**
   * One position along an axis, which is dropped.
   *
   * @param position counts from the end when negative
   * @return the item
   */
  public static Index at(long position) {
    return new Index(0, position, 0, 0, null);
  }

  /**
   * The positions from {@code start} up to and without {@code stop}.
   *
   * @param start the first, or {@link #OPEN}
   * @param stop the end, or {@link #OPEN}
   * @return the item
   */
  public static Index range(long start, long stop) {
    return range(start, stop, 1);
  }

  /**
   * Every step-th position from {@code start} up to and without {@code stop}.
   *
   * @param start the first, or {@link #OPEN}
   * @param stop the end, or {@link #OPEN}
   * @param step negative goes backwards
   * @return the item
   */
  public static Index range(long start, long stop, long step) {
    return new Index(1, start, stop, step, null);
  }

  /**
   * The positions in an integer tensor, or those where a bool tensor is true.
   *
   * @param positions the tensor
   * @return the item
   */
  public static Index by(Tensor positions) {
    return new Index(4, 0, 0, 0, positions);
  }

  static long[] enter(Index[] items) {
    long[] numbers = new long[5 * items.length];
    for (int i = 0; i < items.length; i++) {
      Index item = items[i];
      numbers[5 * i] = item.kind;
      numbers[5 * i + 1] = item.start;
      numbers[5 * i + 2] = item.stop;
      numbers[5 * i + 3] = item.step;
      numbers[5 * i + 4] = Handle.enter(item.tensor);
    }
    return numbers;
  }

  static void leave(Index[] items, long[] numbers) {
    for (int i = 0; i < items.length; i++) Handle.leave(items[i].tensor, numbers[5 * i + 4]);
  }
}
