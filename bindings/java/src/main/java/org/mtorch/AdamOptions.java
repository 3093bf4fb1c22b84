// SPDX-License-Identifier: Apache-2.0
package org.mtorch;

/** Options of Adam. Each method returns the options themselves. */
public final class AdamOptions {
  private double beta1 = 0.9;
  private double beta2 = 0.999;
  private double epsilon = 1e-8;
  private double weightDecay = 0;

  /** Options with every default. */
  public AdamOptions() {}

  /**
   * Sets the decay of the first moment.
   *
   * @param value the number; 0.9 unless set
   * @return this
   */
  public AdamOptions beta1(double value) {
    beta1 = value;
    return this;
  }

  /**
   * Sets the decay of the second moment.
   *
   * @param value the number; 0.999 unless set
   * @return this
   */
  public AdamOptions beta2(double value) {
    beta2 = value;
    return this;
  }

  /**
   * Sets what is added to the root.
   *
   * @param value the number; 1e-8 unless set
   * @return this
   */
  public AdamOptions epsilon(double value) {
    epsilon = value;
    return this;
  }

  /**
   * Sets the weight decay; set, AdamW has it too.
   *
   * @param value the number; 0 unless set
   * @return this
   */
  public AdamOptions weightDecay(double value) {
    weightDecay = value;
    return this;
  }

  /** The numbers in the order of the C struct. */
  double[] numbers() {
    return new double[] {beta1, beta2, epsilon, weightDecay};
  }
}
