// SPDX-License-Identifier: Apache-2.0
package org.mtorch;

/** Options of Adagrad. Each method returns the options themselves. */
public final class AdagradOptions {
  private double epsilon = 1e-10;
  private double initial = 0;
  private double weightDecay = 0;

  /** Options with every default. */
  public AdagradOptions() {}

  /**
   * Sets what is added to the root.
   *
   * @param value the number; 1e-10 unless set
   * @return this
   */
  public AdagradOptions epsilon(double value) {
    epsilon = value;
    return this;
  }

  /**
   * Sets the sum of squares at first.
   *
   * @param value the number; 0 unless set
   * @return this
   */
  public AdagradOptions initial(double value) {
    initial = value;
    return this;
  }

  /**
   * Sets the weight decay.
   *
   * @param value the number; 0 unless set
   * @return this
   */
  public AdagradOptions weightDecay(double value) {
    weightDecay = value;
    return this;
  }

  /** The numbers in the order of the C struct. */
  double[] numbers() {
    return new double[] {epsilon, initial, weightDecay};
  }
}
