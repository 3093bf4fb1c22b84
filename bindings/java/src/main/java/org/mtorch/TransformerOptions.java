// SPDX-License-Identifier: Apache-2.0
package org.mtorch;

/** How a transformer block works. Each method returns the options themselves. */
public final class TransformerOptions {
  long hidden = 0;
  double dropout = 0;
  String activation = null;
  boolean normFirst = true;
  boolean causal = false;
  double epsilon = 1e-5;

  /** Options with every default. */
  public TransformerOptions() {}

  /**
   * Sets the width between the two linear layers; 0 means 4 times the block's.
   *
   * @param value the number; 0 unless set
   * @return this
   */
  public TransformerOptions hidden(long value) {
    hidden = value;
    return this;
  }

  /**
   * Sets the probability of dropping an element: in attention, after it, and in and after the
   * network.
   *
   * @param value the number; 0 unless set
   * @return this
   */
  public TransformerOptions dropout(double value) {
    dropout = value;
    return this;
  }

  /**
   * Sets the activation: an expression of a, as {@link Tensor#expression} takes it.
   *
   * @param value the text; null, "relu(a)", unless set
   * @return this
   */
  public TransformerOptions activation(String value) {
    activation = value;
    return this;
  }

  /**
   * Sets whether norms stand before attention and network, else after the sums.
   *
   * @param value whether; true unless set
   * @return this
   */
  public TransformerOptions normFirst(boolean value) {
    normFirst = value;
    return this;
  }

  /**
   * Sets whether a position sees only those up to itself.
   *
   * @param value whether; false unless set
   * @return this
   */
  public TransformerOptions causal(boolean value) {
    causal = value;
    return this;
  }

  /**
   * Sets what the norms add to the variance.
   *
   * @param value the number; 1e-5 unless set
   * @return this
   */
  public TransformerOptions epsilon(double value) {
    epsilon = value;
    return this;
  }
}
