// SPDX-License-Identifier: Apache-2.0
package org.mtorch;

/**
 * Random tensors from this thread's {@link Generator}: the same numbers for a seed on every device.
 */
abstract sealed class Drawing extends Creation permits Tensor {
  Drawing(long address, boolean managed) {
    super(address, managed);
  }

  /** Refuses two numbers alone, which look like sizes. */
  private static void needSizes(String name, long[] shape) {
    if (shape.length == 0) {
      throw new MTorchException(
          ErrorCode.SHAPE,
          name + ": the sizes come after its two numbers, as in Tensor." + name + "(0, 1, 2, 3)");
    }
  }

  /**
   * Floats uniform in [low, high).
   *
   * @param low the lower bound
   * @param high the upper bound
   * @param shape the sizes, one at least
   * @return a tensor of float32
   */
  public static Tensor uniform(double low, double high, long... shape) {
    needSizes("uniform", shape);
    return uniform(low, high, DType.FLOAT32, null, shape);
  }

  /**
   * Floats uniform in [low, high).
   *
   * @param low the lower bound
   * @param high the upper bound
   * @param dtype the element type
   * @param device where it is made; null for the usual one
   * @param shape the sizes
   * @return a tensor
   */
  public static Tensor uniform(
      double low, double high, DType dtype, String device, long... shape) {
    ThreadState.notice();
    return Native.uniform(shape, low, high, dtype, device);
  }

  /**
   * Floats of the normal distribution.
   *
   * @param mean the mean
   * @param deviation the standard deviation
   * @param shape the sizes, one at least
   * @return a tensor of float32
   */
  public static Tensor normal(double mean, double deviation, long... shape) {
    needSizes("normal", shape);
    return normal(mean, deviation, DType.FLOAT32, null, shape);
  }

  /**
   * Floats of the normal distribution.
   *
   * @param mean the mean
   * @param deviation the standard deviation
   * @param dtype the element type
   * @param device where it is made; null for the usual one
   * @param shape the sizes
   * @return a tensor
   */
  public static Tensor normal(
      double mean, double deviation, DType dtype, String device, long... shape) {
    ThreadState.notice();
    return Native.normal(shape, mean, deviation, dtype, device);
  }

  /**
   * Integers uniform in [low, high).
   *
   * @param low the lower bound
   * @param high the upper bound
   * @param shape the sizes
   * @return a tensor of int64
   */
  public static Tensor integers(long low, long high, long... shape) {
    return integers(low, high, DType.INT64, null, shape);
  }

  /**
   * Integers uniform in [low, high).
   *
   * @param low the lower bound
   * @param high the upper bound
   * @param dtype the element type
   * @param device where it is made; null for the usual one
   * @param shape the sizes
   * @return a tensor
   */
  public static Tensor integers(long low, long high, DType dtype, String device, long... shape) {
    ThreadState.notice();
    return Native.integers(shape, low, high, dtype, device);
  }

  /**
   * 1 with a given probability, else 0.
   *
   * @param probability of 1
   * @param dtype the element type
   * @param shape the sizes
   * @return a tensor
   */
  public static Tensor bernoulli(double probability, DType dtype, long... shape) {
    return bernoulli(probability, dtype, null, shape);
  }

  /**
   * 1 with a given probability, else 0.
   *
   * @param probability of 1
   * @param dtype the element type
   * @param device where it is made; null for the usual one
   * @param shape the sizes
   * @return a tensor
   */
  public static Tensor bernoulli(
      double probability, DType dtype, String device, long... shape) {
    ThreadState.notice();
    return Native.bernoulli(shape, probability, dtype, device);
  }

  /**
   * The numbers 0 to n - 1 in random order.
   *
   * @param n how many
   * @return a tensor of int64 and one dimension
   */
  public static Tensor permutation(long n) {
    return permutation(n, null);
  }

  /**
   * The numbers 0 to n - 1 in random order.
   *
   * @param n how many
   * @param device where it is made; null for the usual one
   * @return a tensor of int64 and one dimension
   */
  public static Tensor permutation(long n, String device) {
    ThreadState.notice();
    return Native.permutation(n, device);
  }
}
