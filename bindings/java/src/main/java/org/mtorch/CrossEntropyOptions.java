// SPDX-License-Identifier: Apache-2.0
package org.mtorch;

/** How {@link Tensor#crossEntropy(Tensor, long, Reduction, Tensor, CrossEntropyOptions)} judges. */
public final class CrossEntropyOptions {
  private long ignoreIndex = Long.MIN_VALUE; // no target at all
  private double labelSmoothing;

  /** All defaults. */
  public CrossEntropyOptions() {}

  /**
   * Sets the target that has no loss and that the mean leaves out.
   *
   * @param value the target; none unless set
   * @return this
   */
  public CrossEntropyOptions ignoreIndex(long value) {
    if ((long) (double) value != value || value == Long.MAX_VALUE) {
      throw new IllegalArgumentException("ignoreIndex " + value + ": no class has that number");
    }
    ignoreIndex = value;
    return this;
  }

  /**
   * Sets the share of each target that all classes have alike.
   *
   * @param value from 0 to 1; 0 unless set
   * @return this
   */
  public CrossEntropyOptions labelSmoothing(double value) {
    labelSmoothing = value;
    return this;
  }

  /** The numbers in the order of the C struct. */
  double[] numbers() {
    return new double[] {ignoreIndex, labelSmoothing};
  }
}
