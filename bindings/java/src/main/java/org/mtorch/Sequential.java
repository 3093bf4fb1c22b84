// SPDX-License-Identifier: Apache-2.0
package org.mtorch;

import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;

/**
 * Layers and functions of a tensor, one after the other:
 *
 * <pre>{@code
 * Sequential network =
 *     new Sequential(p.linear("hidden", 2, 16), Tensor::relu, p.linear("output", 16, 1));
 * }</pre>
 */
public final class Sequential implements UnaryOperator<Tensor> {
  private final List<UnaryOperator<Tensor>> parts;

  /**
   * A sequence.
   *
   * @param parts each takes what the one before gave
   */
  @SafeVarargs
  public Sequential(UnaryOperator<Tensor>... parts) {
    List<UnaryOperator<Tensor>> all = new ArrayList<>();
    for (UnaryOperator<Tensor> part : parts) all.add(part);
    this.parts = List.copyOf(all);
  }

  /**
   * Applies the parts.
   *
   * @param x what the first takes
   * @return what the last gives
   */
  @Override
  public Tensor apply(Tensor x) {
    for (UnaryOperator<Tensor> part : parts) x = part.apply(x);
    return x;
  }
}
