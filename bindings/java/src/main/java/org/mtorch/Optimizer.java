// SPDX-License-Identifier: Apache-2.0
package org.mtorch;

/** An update rule and its state, for the parameters of one collection. */
public final class Optimizer extends NativeObject {
  private Optimizer(long address) {
    super(Handle.OPTIMIZER, address, true);
  }

  static Optimizer own(long address) {
    return new Optimizer(address);
  }

  /**
   * Gradient descent.
   *
   * @param parameters what it trains
   * @param learningRate the learning rate
   * @return the optimizer
   */
  public static Optimizer sgd(Parameters parameters, double learningRate) {
    return Native.optimizer_sgd(parameters, learningRate, null);
  }

  /**
   * Gradient descent.
   *
   * @param parameters what it trains
   * @param learningRate the learning rate
   * @param options or null for all defaults
   * @return the optimizer
   */
  public static Optimizer sgd(Parameters parameters, double learningRate, SgdOptions options) {
    return Native.optimizer_sgd(parameters, learningRate, options);
  }

  /**
   * Adam.
   *
   * @param parameters what it trains
   * @param learningRate the learning rate
   * @return the optimizer
   */
  public static Optimizer adam(Parameters parameters, double learningRate) {
    return Native.optimizer_adam(parameters, learningRate, null);
  }

  /**
   * Adam.
   *
   * @param parameters what it trains
   * @param learningRate the learning rate
   * @param options or null for all defaults
   * @return the optimizer
   */
  public static Optimizer adam(Parameters parameters, double learningRate, AdamOptions options) {
    return Native.optimizer_adam(parameters, learningRate, options);
  }

  /**
   * Adam with decoupled weight decay, 0.01 unless set.
   *
   * @param parameters what it trains
   * @param learningRate the learning rate
   * @return the optimizer
   */
  public static Optimizer adamw(Parameters parameters, double learningRate) {
    return Native.optimizer_adamw(parameters, learningRate, null);
  }

  /**
   * Adam with decoupled weight decay, 0.01 unless set.
   *
   * @param parameters what it trains
   * @param learningRate the learning rate
   * @param options or null for all defaults
   * @return the optimizer
   */
  public static Optimizer adamw(Parameters parameters, double learningRate, AdamOptions options) {
    return Native.optimizer_adamw(parameters, learningRate, options);
  }

  /**
   * RMSProp.
   *
   * @param parameters what it trains
   * @param learningRate the learning rate
   * @return the optimizer
   */
  public static Optimizer rmsprop(Parameters parameters, double learningRate) {
    return Native.optimizer_rmsprop(parameters, learningRate, null);
  }

  /**
   * RMSProp.
   *
   * @param parameters what it trains
   * @param learningRate the learning rate
   * @param options or null for all defaults
   * @return the optimizer
   */
  public static Optimizer rmsprop(
      Parameters parameters, double learningRate, RmspropOptions options) {
    return Native.optimizer_rmsprop(parameters, learningRate, options);
  }

  /**
   * Adagrad.
   *
   * @param parameters what it trains
   * @param learningRate the learning rate
   * @return the optimizer
   */
  public static Optimizer adagrad(Parameters parameters, double learningRate) {
    return Native.optimizer_adagrad(parameters, learningRate, null);
  }

  /**
   * Adagrad.
   *
   * @param parameters what it trains
   * @param learningRate the learning rate
   * @param options or null for all defaults
   * @return the optimizer
   */
  public static Optimizer adagrad(
      Parameters parameters, double learningRate, AdagradOptions options) {
    return Native.optimizer_adagrad(parameters, learningRate, options);
  }

  /**
   * Makes another optimizer, for other parameters, a group of this one: from now on a step of this is
   * one of both. Each keeps its options and its learning rate; where this one's is set, the group's
   * follows in the proportion that it has to it now, or had when it was last set on its own. While
   * this one's is 0, the last before that counts; if there was none, the group's stays.
   *
   * @param group which may be closed afterwards
   */
  public void add(Optimizer group) {
    Native.optimizer_add(this, group);
  }

  /** Updates the parameters once; leaves the gradients as they are. */
  public void step() {
    Native.optimizer_step(this);
  }

  /** {@return how many steps it has taken} */
  public long steps() {
    return Native.optimizer_steps(this);
  }

  /** {@return the learning rate} */
  public double learningRate() {
    return Native.optimizer_learning_rate(this);
  }

  /**
   * Sets the learning rate, and those of added groups in proportion; traced steps follow it too.
   *
   * @param learningRate the learning rate
   */
  public void setLearningRate(double learningRate) {
    Native.optimizer_set_learning_rate(this, learningRate);
  }

  /**
   * All that a later step depends on: "step" and "learning_rate", of added groups "step.1",
   * "learning_rate.1" and "proportion.1", and what the rule keeps for each parameter, as "mean.weight". Later steps
   * leave it as it is.
   *
   * @return tensors by name, as buffers
   */
  public Parameters state() {
    return Native.optimizer_state(this);
  }

  /**
   * Takes such state back; training goes on bit for bit as where it was read.
   *
   * @param state of the same names, shapes and types; nothing changes unless all fit
   */
  public void setState(Parameters state) {
    Native.optimizer_set_state(this, state);
  }

  /**
   * Writes the state to a safetensors file.
   *
   * @param path the file
   */
  public void save(String path) {
    Native.optimizer_save(this, path);
  }

  /**
   * Reads it back, into an optimizer of the same rule and parameters.
   *
   * @param path the file
   */
  public void load(String path) {
    Native.optimizer_load(this, path);
  }

  /**
   * One plain step on leaves, without any state: w = w - learningRate * gradient.
   *
   * @param learningRate the learning rate
   * @param leaves those without gradient stay
   */
  public static void plainStep(double learningRate, Tensor... leaves) {
    Native.sgd(leaves, learningRate);
  }
}
