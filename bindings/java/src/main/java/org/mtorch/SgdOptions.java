// SPDX-License-Identifier: Apache-2.0
package org.mtorch;

/** Options of gradient descent. Each method returns the options themselves. */
public final class SgdOptions {
  private double momentum = 0;
  private double dampening = 0;
  private double weightDecay = 0;
  private boolean nesterov = false;

  /** Options with every default. */
  public SgdOptions() {}

  /**
   * Sets the momentum.
   *
   * @param value the number; 0 unless set
   * @return this
   */
  public SgdOptions momentum(double value) {
    momentum = value;
    return this;
  }

  /**
   * Sets the dampening of the momentum.
   *
   * @param value the number; 0 unless set
   * @return this
   */
  public SgdOptions dampening(double value) {
    dampening = value;
    return this;
  }

  /**
   * Sets the weight decay.
   *
   * @param value the number; 0 unless set
   * @return this
   */
  public SgdOptions weightDecay(double value) {
    weightDecay = value;
    return this;
  }

  /**
   * Sets whether the momentum is Nesterov's.
   *
   * @param value whether; false unless set
   * @return this
   */
  public SgdOptions nesterov(boolean value) {
    nesterov = value;
    return this;
  }

  /** The numbers in the order of the C struct. */
  double[] numbers() {
    return new double[] {momentum, dampening, weightDecay, nesterov ? 1 : 0};
  }
}
