// SPDX-License-Identifier: Apache-2.0
package org.mtorch;

/** The operators of tensors that have several results. */
abstract sealed class SeveralResults extends Operators permits HostMemory {
  SeveralResults(long address, boolean managed) {
    super(address, managed);
  }

  /**
   * Cuts along an axis.
   *
   * @param axis the axis
   * @param sizes of the pieces, which add up to the axis
   * @return the pieces
   */
  public Tensor[] split(long axis, long... sizes) {
    return Native.split((Tensor) this, sizes, axis);
  }

  /**
   * The largest or smallest elements along an axis.
   *
   * @param k how many
   * @param axis the axis
   * @param largest whether the largest
   * @return the values, best first, and their indices
   */
  public Tensor[] topk(long k, long axis, boolean largest) {
    return Native.topk((Tensor) this, k, axis, largest);
  }

  /** {@return the distinct elements, where each occurs first, the inverse, and the counts} */
  public Tensor[] uniqueAll() {
    return Native.unique_all((Tensor) this);
  }

  /** {@return the sign of the determinant, and the logarithm of its magnitude} */
  public Tensor[] slogdet() {
    return Native.slogdet((Tensor) this);
  }

  /**
   * Orthonormal columns times an upper triangle.
   *
   * @param complete whether there are as many columns as rows, else as the smaller size
   * @return q and r
   */
  public Tensor[] qr(boolean complete) {
    return Native.qr((Tensor) this, complete);
  }

  /** {@return the eigenvalues, ascending, and eigenvectors, as columns, of symmetric matrices} */
  public Tensor[] eigh() {
    return Native.eigh((Tensor) this);
  }

  /**
   * Singular values and vectors.
   *
   * @param full whether the vectors are completed to a basis
   * @return u, s and the transpose of v
   */
  public Tensor[] svd(boolean full) {
    return Native.svd((Tensor) this, full);
  }

  /**
   * Reads [batch, n, in] position by position: tanh(x' + h'), by Elman.
   *
   * @param state [batch, hidden], or null for zeros
   * @param weightIh weights of the input, gate by gate
   * @param weightHh weights of the state, gate by gate
   * @param biasIh or null
   * @param biasHh or null
   * @return all states [batch, n, hidden], and the last one
   */
  public Tensor[] rnn(
      Tensor state, Tensor weightIh, Tensor weightHh, Tensor biasIh, Tensor biasHh) {
    return Native.rnn((Tensor) this, state, weightIh, weightHh, biasIh, biasHh);
  }

  /**
   * Reads [batch, n, in] position by position: the gated unit of Cho and others.
   *
   * @param state [batch, hidden], or null for zeros
   * @param weightIh weights of the input, gate by gate
   * @param weightHh weights of the state, gate by gate
   * @param biasIh or null
   * @param biasHh or null
   * @return all states [batch, n, hidden], and the last one
   */
  public Tensor[] gru(
      Tensor state, Tensor weightIh, Tensor weightHh, Tensor biasIh, Tensor biasHh) {
    return Native.gru((Tensor) this, state, weightIh, weightHh, biasIh, biasHh);
  }

  /**
   * Reads [batch, n, in] position by position: the long short-term memory of Hochreiter and
   * Schmidhuber.
   *
   * @param state [batch, hidden], or null for zeros
   * @param cell [batch, hidden], or null for zeros
   * @param weightIh weights of the input, gate by gate
   * @param weightHh weights of the state, gate by gate
   * @param biasIh or null
   * @param biasHh or null
   * @return all states [batch, n, hidden], the last one, and the last cell
   */
  public Tensor[] lstm(
      Tensor state, Tensor cell, Tensor weightIh, Tensor weightHh, Tensor biasIh, Tensor biasHh) {
    return Native.lstm((Tensor) this, state, cell, weightIh, weightHh, biasIh, biasHh);
  }
}
