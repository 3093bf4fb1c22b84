// SPDX-License-Identifier: Apache-2.0
package org.mtorch;

/**
 * A record of the operators that a thread calls, from its making to {@link #end()}: to be read,
 * differentiated and replayed.
 */
public final class Tape extends NativeObject {
  private Tape(long address) {
    super(Handle.TAPE, address, true);
  }

  static Tape own(long address) {
    return new Tape(address);
  }

  /** {@return a tape that records from now on} */
  public static Tape begin() {
    return Native.tape_begin();
  }

  /** Stops recording. The tape can be read until it is closed. */
  public void end() {
    Native.tape_end(this);
  }

  /** {@return the number of nodes} */
  public long length() {
    return Native.tape_length(this);
  }

  /**
   * The operator of a node.
   *
   * @param node its index
   * @return "matmul", or "input" for a tensor from outside
   */
  public String operator(long node) {
    return Native.tape_operator(this, node);
  }

  /**
   * The nodes that a node reads.
   *
   * @param node its index
   * @return their indices
   */
  public long[] inputs(long node) {
    return Native.tape_inputs(this, node);
  }

  /**
   * The shape of a node's value.
   *
   * @param node its index
   * @return its sizes
   */
  public long[] shape(long node) {
    return Native.tape_dims(this, node);
  }

  /**
   * The element type of a node's value.
   *
   * @param node its index
   * @return the type
   */
  public DType dtype(long node) {
    return Native.tape_dtype(this, node);
  }

  /**
   * The value of a node.
   *
   * @param node its index
   * @return a tensor
   */
  public Tensor tensor(long node) {
    return Native.tape_tensor(this, node);
  }

  /**
   * The node whose value a tensor has.
   *
   * @param tensor the tensor
   * @return its index, or -1
   */
  public long find(Tensor tensor) {
    return Native.tape_find(this, tensor);
  }

  /**
   * The gradients of sum(output), whether or not the inputs were marked for that.
   *
   * @param output on the tape
   * @param inputs on the tape
   * @return a gradient for each input
   */
  public Tensor[] gradient(Tensor output, Tensor... inputs) {
    return Native.tape_gradients(this, output, inputs);
  }

  /**
   * Runs the recorded operators again with other values.
   *
   * @param inputs nodes on the tape
   * @param replacements a value for each of them
   * @param outputs nodes on the tape
   * @return the new values of the outputs
   */
  public Tensor[] replay(Tensor[] inputs, Tensor[] replacements, Tensor... outputs) {
    return Native.tape_again(this, inputs, replacements, outputs);
  }

  /** {@return one line for each node} */
  @Override
  public String toString() {
    return isClosed() ? "closed tape" : Native.tape_to_string(this);
  }

  /** {@return the tape as a Graphviz graph} */
  public String toDot() {
    return Native.tape_to_dot(this);
  }
}
