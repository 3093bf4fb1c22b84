// SPDX-License-Identifier: Apache-2.0
package org.mtorch;

/** Initialisers: each binds a float tensor to fresh random values. */
public final class Init {
  private Init() {}

  /**
   * Uniform in [low, high).
   *
   * @param tensor to bind
   * @param low the lower bound
   * @param high the upper bound
   */
  public static void uniform(Tensor tensor, double low, double high) {
    Native.init_uniform(tensor, low, high);
  }

  /**
   * Normal.
   *
   * @param tensor to bind
   * @param mean the mean
   * @param deviation the standard deviation
   */
  public static void normal(Tensor tensor, double mean, double deviation) {
    Native.init_normal(tensor, mean, deviation);
  }

  /**
   * Uniform within +- gain sqrt(6 / (fan_in + fan_out)), by Glorot and Bengio.
   *
   * @param tensor to bind
   * @param gain a factor, usually 1
   */
  public static void xavierUniform(Tensor tensor, double gain) {
    Native.init_xavier_uniform(tensor, gain);
  }

  /**
   * Normal with deviation gain sqrt(2 / (fan_in + fan_out)).
   *
   * @param tensor to bind
   * @param gain a factor, usually 1
   */
  public static void xavierNormal(Tensor tensor, double gain) {
    Native.init_xavier_normal(tensor, gain);
  }

  /**
   * Uniform within +- sqrt(6 / ((1 + slope^2) fan_in)), by He and others.
   *
   * @param tensor to bind
   * @param slope 0 suits relu
   */
  public static void kaimingUniform(Tensor tensor, double slope) {
    Native.init_kaiming_uniform(tensor, slope);
  }

  /**
   * Normal with deviation sqrt(2 / ((1 + slope^2) fan_in)).
   *
   * @param tensor to bind
   * @param slope 0 suits relu
   */
  public static void kaimingNormal(Tensor tensor, double slope) {
    Native.init_kaiming_normal(tensor, slope);
  }

  /**
   * gain times a random matrix with orthonormal rows or columns, by Saxe and others.
   *
   * @param tensor to bind
   * @param gain a factor, usually 1
   */
  public static void orthogonal(Tensor tensor, double gain) {
    Native.init_orthogonal(tensor, gain);
  }
}
