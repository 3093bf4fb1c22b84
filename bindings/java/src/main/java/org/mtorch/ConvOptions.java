// SPDX-License-Identifier: Apache-2.0
package org.mtorch;

import java.util.Arrays;

/** How a convolution's kernel moves. Each method returns the options themselves. */
public final class ConvOptions {
  private final long[] stride = {1, 1, 1};
  private final long[] padding = {0, 0, 0};
  private final long[] dilation = {1, 1, 1};
  private final long[] outputPadding = {0, 0, 0};
  private long groups = 1;
  private boolean bias = true;
  private boolean same;

  /** Options with every default. */
  public ConvOptions() {}

  /**
   * Sets the step between positions.
   *
   * @param sizes one number for each spatial axis; one alone counts for all
   * @return this
   */
  public ConvOptions stride(long... sizes) {
    if (sizes.length < 1 || sizes.length > 3) {
      throw new MTorchException(ErrorCode.SHAPE, "stride: 1 to 3 numbers");
    }
    Arrays.fill(stride, sizes[sizes.length - 1]);
    System.arraycopy(sizes, 0, stride, 0, sizes.length);
    return this;
  }

  /**
   * Sets the zeros added at both ends.
   *
   * @param sizes one number for each spatial axis; one alone counts for all
   * @return this
   */
  public ConvOptions padding(long... sizes) {
    if (sizes.length < 1 || sizes.length > 3) {
      throw new MTorchException(ErrorCode.SHAPE, "padding: 1 to 3 numbers");
    }
    Arrays.fill(padding, sizes[sizes.length - 1]);
    System.arraycopy(sizes, 0, padding, 0, sizes.length);
    return this;
  }

  /**
   * Sets the distance between the kernel's elements.
   *
   * @param sizes one number for each spatial axis; one alone counts for all
   * @return this
   */
  public ConvOptions dilation(long... sizes) {
    if (sizes.length < 1 || sizes.length > 3) {
      throw new MTorchException(ErrorCode.SHAPE, "dilation: 1 to 3 numbers");
    }
    Arrays.fill(dilation, sizes[sizes.length - 1]);
    System.arraycopy(sizes, 0, dilation, 0, sizes.length);
    return this;
  }

  /**
   * Sets the elements added to one end of a transpose's result.
   *
   * @param sizes one number for each spatial axis; one alone counts for all
   * @return this
   */
  public ConvOptions outputPadding(long... sizes) {
    if (sizes.length < 1 || sizes.length > 3) {
      throw new MTorchException(ErrorCode.SHAPE, "outputPadding: 1 to 3 numbers");
    }
    Arrays.fill(outputPadding, sizes[sizes.length - 1]);
    System.arraycopy(sizes, 0, outputPadding, 0, sizes.length);
    return this;
  }

  /**
   * Sets into how many independent groups channels are split.
   *
   * @param value the number; 1 unless set
   * @return this
   */
  public ConvOptions groups(long value) {
    groups = value;
    return this;
  }

  /**
   * Sets whether a layer has a bias.
   *
   * @param value whether; true unless set
   * @return this
   */
  public ConvOptions bias(boolean value) {
    bias = value;
    return this;
  }

  /**
   * Sets whether so many zeros are added that the size stays, whatever the padding; strides are 1.
   *
   * @param value whether; false unless set
   * @return this
   */
  public ConvOptions same(boolean value) {
    same = value;
    return this;
  }

  /** The numbers in the order of the C struct. */
  double[] numbers() {
    double[] all = new double[15];
    for (int i = 0; i < 3; i++) {
      all[i] = stride[i];
      all[3 + i] = padding[i];
      all[6 + i] = dilation[i];
      all[9 + i] = outputPadding[i];
    }
    all[12] = groups;
    all[13] = bias ? 1 : 0;
    all[14] = same ? 1 : 0;
    return all;
  }
}
