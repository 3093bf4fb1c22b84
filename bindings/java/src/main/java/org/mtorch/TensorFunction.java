// SPDX-License-Identifier: Apache-2.0
package org.mtorch;

/** A function of tensors: what is traced, checkpointed or checked. */
@FunctionalInterface
public interface TensorFunction {
  /**
   * Computes the results. What it makes on the way is freed after it, as in a {@link Scope}.
   *
   * @param inputs the inputs
   * @return the results, as many as the caller expects
   */
  Tensor[] apply(Tensor[] inputs);
}
