// SPDX-License-Identifier: Apache-2.0
package org.mtorch;

/** Options of RMSProp. Each method returns the options themselves. */
public final class RmspropOptions {
  private double smoothing = 0.99;
  private double epsilon = 1e-8;
  private double momentum = 0;
  private double weightDecay = 0;

  /** Options with every default. */
  public RmspropOptions() {}

  /**
   * Sets the decay of the mean square.
   *
   * @param value the number; 0.99 unless set
   * @return this
   */
  public RmspropOptions smoothing(double value) {
    smoothing = value;
    return this;
  }

  /**
   * Sets what is added to the root.
   *
   * @param value the number; 1e-8 unless set
   * @return this
   */
  public RmspropOptions epsilon(double value) {
    epsilon = value;
    return this;
  }

  /**
   * Sets the momentum.
   *
   * @param value the number; 0 unless set
   * @return this
   */
  public RmspropOptions momentum(double value) {
    momentum = value;
    return this;
  }

  /**
   * Sets the weight decay.
   *
   * @param value the number; 0 unless set
   * @return this
   */
  public RmspropOptions weightDecay(double value) {
    weightDecay = value;
    return this;
  }

  /** The numbers in the order of the C struct. */
  double[] numbers() {
    return new double[] {smoothing, epsilon, momentum, weightDecay};
  }
}
