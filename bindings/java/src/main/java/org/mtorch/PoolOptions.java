// SPDX-License-Identifier: Apache-2.0
package org.mtorch;

import java.util.Arrays;

/** How a pooling window moves. Each method returns the options themselves. */
public final class PoolOptions {
  private final long[] stride = {0, 0, 0};
  private final long[] padding = {0, 0, 0};
  private final long[] dilation = {1, 1, 1};
  private boolean excludePadding = false;

  /** Options with every default. */
  public PoolOptions() {}

  /**
   * Sets the step between windows; 0 is the window's size.
   *
   * @param sizes one number for each spatial axis; one alone counts for all
   * @return this
   */
  public PoolOptions stride(long... sizes) {
    if (sizes.length < 1 || sizes.length > 3) {
      throw new MTorchException(ErrorCode.SHAPE, "stride: 1 to 3 numbers");
    }
    Arrays.fill(stride, sizes[sizes.length - 1]);
    System.arraycopy(sizes, 0, stride, 0, sizes.length);
    return this;
  }

  /**
   * Sets the elements added at both ends.
   *
   * @param sizes one number for each spatial axis; one alone counts for all
   * @return this
   */
  public PoolOptions padding(long... sizes) {
    if (sizes.length < 1 || sizes.length > 3) {
      throw new MTorchException(ErrorCode.SHAPE, "padding: 1 to 3 numbers");
    }
    Arrays.fill(padding, sizes[sizes.length - 1]);
    System.arraycopy(sizes, 0, padding, 0, sizes.length);
    return this;
  }

  /**
   * Sets the distance between the window's elements.
   *
   * @param sizes one number for each spatial axis; one alone counts for all
   * @return this
   */
  public PoolOptions dilation(long... sizes) {
    if (sizes.length < 1 || sizes.length > 3) {
      throw new MTorchException(ErrorCode.SHAPE, "dilation: 1 to 3 numbers");
    }
    Arrays.fill(dilation, sizes[sizes.length - 1]);
    System.arraycopy(sizes, 0, dilation, 0, sizes.length);
    return this;
  }

  /**
   * Sets whether a mean is over the elements inside the input only.
   *
   * @param value whether; false unless set
   * @return this
   */
  public PoolOptions excludePadding(boolean value) {
    excludePadding = value;
    return this;
  }

  /** The numbers in the order of the C struct. */
  double[] numbers() {
    double[] all = new double[10];
    for (int i = 0; i < 3; i++) {
      all[i] = stride[i];
      all[3 + i] = padding[i];
      all[6 + i] = dilation[i];
    }
    all[9] = excludePadding ? 1 : 0;
    return all;
  }
}
