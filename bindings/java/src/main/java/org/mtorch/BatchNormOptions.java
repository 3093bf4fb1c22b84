// SPDX-License-Identifier: Apache-2.0
package org.mtorch;

/** How batch norm works. Each method returns the options themselves. */
public final class BatchNormOptions {
  private boolean training = false;
  private double momentum = 0.1;
  private double epsilon = 1e-5;

  /** Options with every default. */
  public BatchNormOptions() {}

  /**
   * Sets whether it uses the batch's statistics and updates the running ones.
   *
   * @param value whether; false unless set
   * @return this
   */
  public BatchNormOptions training(boolean value) {
    training = value;
    return this;
  }

  /**
   * Sets the weight of the new statistics in the running ones.
   *
   * @param value the number; 0.1 unless set
   * @return this
   */
  public BatchNormOptions momentum(double value) {
    momentum = value;
    return this;
  }

  /**
   * Sets what is added to the variance.
   *
   * @param value the number; 1e-5 unless set
   * @return this
   */
  public BatchNormOptions epsilon(double value) {
    epsilon = value;
    return this;
  }

  /** The numbers in the order of the C struct. */
  double[] numbers() {
    return new double[] {training ? 1 : 0, momentum, epsilon};
  }
}
