// SPDX-License-Identifier: Apache-2.0
package org.mtorch;

/** How attention works. Each method returns the options themselves. */
public final class AttentionOptions {
  private boolean causal = false;
  private double scale = 0;
  private double dropout = 0;
  private boolean training = false;
  private boolean bias = true;

  /** Options with every default. */
  public AttentionOptions() {}

  /**
   * Sets whether a query sees only keys at or before its own position.
   *
   * @param value whether; false unless set
   * @return this
   */
  public AttentionOptions causal(boolean value) {
    causal = value;
    return this;
  }

  /**
   * Sets the scale of the scores; 0 means 1 / sqrt(d).
   *
   * @param value the number; 0 unless set
   * @return this
   */
  public AttentionOptions scale(double value) {
    scale = value;
    return this;
  }

  /**
   * Sets the probability of dropping a weight.
   *
   * @param value the number; 0 unless set
   * @return this
   */
  public AttentionOptions dropout(double value) {
    dropout = value;
    return this;
  }

  /**
   * Sets whether it drops.
   *
   * @param value whether; false unless set
   * @return this
   */
  public AttentionOptions training(boolean value) {
    training = value;
    return this;
  }

  /**
   * Sets whether a layer has biases.
   *
   * @param value whether; true unless set
   * @return this
   */
  public AttentionOptions bias(boolean value) {
    bias = value;
    return this;
  }

  /** The numbers in the order of the C struct. */
  double[] numbers() {
    return new double[] {causal ? 1 : 0, scale, dropout, training ? 1 : 0, bias ? 1 : 0};
  }
}
