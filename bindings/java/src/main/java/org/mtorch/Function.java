// SPDX-License-Identifier: Apache-2.0
package org.mtorch;

/**
 * An operator of your own, with its own gradient:
 *
 * <pre>{@code
 * class Twice implements Function {
 *   public Tensor[] forward(Tensor[] inputs) {
 *     return new Tensor[] {inputs[0].mul(2)};
 *   }
 *   public Tensor[] backward(Tensor[] inputs, Tensor[] results, Tensor[] gradients) {
 *     return new Tensor[] {gradients[0].mul(2)};
 *   }
 * }
 * Tensor y = new Twice().apply(x);
 * }</pre>
 *
 * An exception inside comes out of the call that needed it, as itself.
 */
public interface Function {
  /** {@return the name for messages, tapes and explain} */
  default String name() {
    return getClass().getSimpleName();
  }

  /**
   * Computes the results, with nothing recorded; may read values, except inside a trace.
   *
   * @param inputs the inputs
   * @return the results
   */
  Tensor[] forward(Tensor[] inputs);

  /**
   * The gradients of the inputs from those of the results. What it calls is recorded where a
   * gradient of the gradient is wanted, to which tensors that it has from elsewhere are constants.
   *
   * @param inputs the inputs
   * @param results what forward gave
   * @param gradients of the results, with their shapes
   * @return a gradient for each input, or null for none
   */
  default Tensor[] backward(Tensor[] inputs, Tensor[] results, Tensor[] gradients) {
    throw new MTorchException(ErrorCode.NO_GRADIENT, name() + ": has no gradient");
  }

  /**
   * Applies the operator, for a single result.
   *
   * @param inputs the inputs
   * @return the result
   */
  default Tensor apply(Tensor... inputs) {
    return apply(1, inputs)[0];
  }

  /**
   * Applies the operator.
   *
   * @param count how many results it has
   * @param inputs the inputs
   * @return the results
   */
  default Tensor[] apply(int count, Tensor... inputs) {
    return Native.custom(name(), this, true, inputs, count);
  }
}
