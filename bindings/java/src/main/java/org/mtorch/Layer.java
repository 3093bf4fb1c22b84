// SPDX-License-Identifier: Apache-2.0
package org.mtorch;

/** Something that is applied to a tensor. It belongs to its collection. */
public final class Layer {
  private final Parameters parameters;
  private final long address;

  Layer(Parameters parameters, long address) {
    this.parameters = parameters;
    this.address = address;
  }

  /**
   * The layer's result.
   *
   * @param x what it is applied to
   * @return the result
   */
  public Tensor apply(Tensor x) {
    long entered = Handle.enter(parameters);
    try {
      if (entered == -1) {
        throw new MTorchException(ErrorCode.INVALID, "apply: its Parameters are closed");
      }
      return Native.apply(address, x);
    } finally {
      Handle.leave(parameters, entered);
    }
  }
}
