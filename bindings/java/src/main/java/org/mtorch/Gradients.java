// SPDX-License-Identifier: Apache-2.0
package org.mtorch;

/** Gradients as functions. */
public final class Gradients {
  private Gradients() {}

  /**
   * The gradients of the sum of all outputs.
   *
   * @param outputs what is differentiated
   * @param inputs what for
   * @return a gradient for each input; they carry a history, unless called within {@link NoGrad}
   */
  public static Tensor[] grad(Tensor[] outputs, Tensor... inputs) {
    return Native.gradients(outputs, inputs, new Tensor[0]);
  }

  /**
   * The gradients of sum(outputs[i] * weights[i]).
   *
   * @param outputs what is differentiated
   * @param weights one for each output, of its shape
   * @param inputs what for
   * @return a gradient for each input
   */
  public static Tensor[] grad(Tensor[] outputs, Tensor[] weights, Tensor[] inputs) {
    return Native.gradients(outputs, inputs, weights);
  }

  /**
   * Calls a function and keeps none of its intermediate values for backward, which computes them
   * again.
   *
   * @param function the function
   * @param count how many results it has
   * @param inputs its inputs
   * @return its results
   */
  public static Tensor[] checkpoint(TensorFunction function, int count, Tensor... inputs) {
    return Native.checkpoint(function, inputs, count);
  }

  /**
   * Compares the gradients of a function with one result with central differences; throws where
   * they differ, naming input, element and both values.
   *
   * @param function the function
   * @param order 2 checks the gradient's gradient as well
   * @param inputs of float64
   */
  public static void check(TensorFunction function, int order, Tensor... inputs) {
    Native.gradient_check(function, inputs, order);
  }
}
