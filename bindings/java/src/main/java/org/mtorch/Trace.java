// SPDX-License-Identifier: Apache-2.0
package org.mtorch;

/**
 * A function that is recorded once for each combination of input shapes and types, and replayed
 * after that, and for each mode, training or not, of the layers that it applies. Plain numbers are
 * constants of the trace; reading a value inside is an error.
 */
public final class Trace extends NativeObject {
  @SuppressWarnings("unused") // the native code refers to it weakly
  private final TensorFunction function;

  /**
   * Prepares a function for tracing.
   *
   * @param function runs first at {@link #call}
   */
  public Trace(TensorFunction function) {
    super(Handle.TRACE, Native.trace_new(function), true);
    this.function = function;
  }

  /**
   * Runs the function: the first time by calling it, then by replay.
   *
   * @param count how many results it has
   * @param inputs its inputs
   * @return its results
   */
  public Tensor[] call(int count, Tensor... inputs) {
    return Native.trace_call(this, inputs, count);
  }

  /**
   * Runs a function that has a single result.
   *
   * @param inputs its inputs
   * @return its result
   */
  public Tensor apply(Tensor... inputs) {
    return call(1, inputs)[0];
  }

  /** {@return how many recordings there are} */
  public long recordings() {
    return Native.trace_count(this);
  }

  /** {@return the plans of the latest recording} */
  public String explain() {
    return Native.trace_explain(this, false);
  }

  /** {@return the same plans for Graphviz} */
  public String explainDot() {
    return Native.trace_explain(this, true);
  }
}
