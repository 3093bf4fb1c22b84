// SPDX-License-Identifier: Apache-2.0
package org.mtorch;

import java.util.function.LongFunction;
import java.util.function.UnaryOperator;

/** Something that is applied to a tensor. It belongs to its {@link Parameters}. */
public final class Layer implements UnaryOperator<Tensor> {
  private final Parameters parameters; // kept alive, because it owns the layer
  private final long address;

  Layer(Parameters parameters, long address) {
    this.parameters = parameters;
    this.address = address;
  }

  /**
   * The layer's result.
   *
   * @param x what it is applied to
   * @return a tensor
   */
  @Override
  public Tensor apply(Tensor x) {
    return use(layer -> Native.apply(layer, x));
  }

  /**
   * The result of a layer of attention to others, or under a mask; of a transformer block, which
   * has only its own key and value, under a mask.
   *
   * @param query [..., n, width]
   * @param key [..., m, width], or null for the query
   * @param value [..., m, width], or null for the key
   * @param mask broadcasts to [..., heads, n, m], or null: booleans say who may be seen, floats are
   *     added
   * @return a tensor
   */
  public Tensor attend(Tensor query, Tensor key, Tensor value, Tensor mask) {
    return use(layer -> Native.apply_attention(layer, query, key, value, mask));
  }

  /**
   * The result of causal attention, or of a causal transformer block, for those that come next:
   * they see what was kept up to their places, of which their own keys and values become part.
   *
   * @param x [..., n, width]
   * @param kept from {@link #keptZeros}; is bound to a new value
   * @param places of the rows of x: n integers below the context, else {@link ErrorCode#INDEX}.
   *     When the context is full, begin anew at place 0 with the last of what was read
   * @return what {@link #apply} would give for these rows after those before them. Gradients reach
   *     what was kept as far as it carries a history: generate within {@link NoGrad}
   */
  public Tensor applyKept(Tensor x, Tensor kept, Tensor places) {
    return use(layer -> Native.apply_kept(layer, x, kept, places));
  }

  /**
   * Room for keys and values, for {@link #applyKept}.
   *
   * @param context how many places there are
   * @param shape of the sequences: none for one, else the leading sizes of x
   * @return zeros [2, shape..., heads, context, width / heads]
   */
  public Tensor keptZeros(long context, long... shape) {
    return use(layer -> Native.kept_zeros(layer, shape, context));
  }

  /**
   * What a recurrent layer makes of a sequence from given states.
   *
   * @param x [batch, n, in]
   * @param states [layers, batch, hidden], or null for zeros
   * @param cells the same of LSTM's cells; null for other layers
   * @return all states of the last layer [batch, n, hidden], and the last states and cells of all;
   *     null for cells that there are not
   */
  public Tensor[] run(Tensor x, Tensor states, Tensor cells) {
    return use(layer -> Native.apply_recurrent(layer, x, states, cells));
  }

  private <T> T use(LongFunction<T> call) {
    long entered = Handle.enter(parameters);
    try {
      if (entered == -1) {
        throw new MTorchException(ErrorCode.INVALID, "apply: its Parameters are closed");
      }
      return call.apply(address);
    } finally {
      Handle.leave(parameters, entered);
    }
  }
}
