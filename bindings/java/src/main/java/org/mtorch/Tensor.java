// SPDX-License-Identifier: Apache-2.0
package org.mtorch;

/**
 * An array of 0 to 16 dimensions with one element type on one device.
 *
 * <p>Operators are methods of their first operand and return new tensors: {@code
 * x.matmul(w).add(b).relu()}. Shapes and types are checked at the call; the arithmetic waits until
 * a value is read. Shapes and axes are written {@code long...}; no axes means all.
 *
 * <p>Its memory lies outside the Java heap, where the garbage collector does not see how much it
 * is: close tensors, or make them inside a {@link Scope}. What is neither is freed by the garbage
 * collector in the end. An object that is closed refuses further use; closing it while another
 * thread uses it is safe.
 *
 * <p>Errors are thrown as {@link MTorchException} at the call, with the operator and what did not
 * fit.
 */
public final class Tensor extends Drawing {
  private Tensor(long address, boolean managed) {
    super(address, managed);
  }

  /** The object for a result; null for none. */
  static Tensor own(long address) {
    return address == 0 ? null : new Tensor(address, true);
  }

  static Tensor[] ownAll(long[] addresses) {
    Tensor[] tensors = new Tensor[addresses.length];
    for (int i = 0; i < tensors.length; i++) tensors[i] = own(addresses[i]);
    return tensors;
  }

  /** A number in a tensor's place, to be closed by the caller. */
  static Tensor operand(double number) {
    return new Tensor(NativeJNI.number(number), false);
  }

  static Tensor operand(long number) {
    return new Tensor(NativeJNI.whole_number(number), false);
  }

  // ------------------------------------------------------------------------- What it holds

  /** {@return the value of a tensor of one element} */
  public double item() {
    return Native.item(this);
  }

  /** {@return the value of a tensor of one integer or bool, exactly} */
  public long itemLong() {
    return Native.item_int(this);
  }

  /** {@return the tensor as text, long ones shortened} */
  @Override
  public String toString() {
    return isClosed() ? "closed tensor" : Native.to_string(this);
  }

  // ------------------------------------------------------------------------------- What it is

  /** {@return the number of dimensions} */
  public int ndim() {
    return Native.ndim(this);
  }

  /** {@return the sizes} */
  public long[] shape() {
    return Native.shape(this);
  }

  /**
   * The size along one axis.
   *
   * @param axis counts from the last when negative
   * @return the size
   */
  public long dim(long axis) {
    return Native.dim(this, axis);
  }

  /** {@return the number of elements} */
  public long size() {
    return Native.size(this);
  }

  /** {@return the element type} */
  public DType dtype() {
    return Native.dtype_of(this);
  }

  /** {@return the device, as "cpu"} */
  public String device() {
    return Native.device_of(this);
  }

  // ------------------------------------------------------------------------ Owners and values

  /** {@return this tensor, which no scope closes any more} */
  public Tensor keep() {
    handle.kept = true;
    collect();
    return this;
  }

  /**
   * Binds this object to the value of another tensor of its shape, type and device.
   *
   * @param value the new value
   */
  public void assign(Tensor value) {
    Native.assign(this, value);
  }

  /** Computes the value now. */
  public void eval() {
    evalAll(this);
  }

  /**
   * Computes tensors now, together.
   *
   * @param tensors none for everything that is pending on this thread
   */
  public static void evalAll(Tensor... tensors) {
    Native.eval(tensors);
  }

  /**
   * Binds this object to a new value, as by {@code x[items] = value}.
   *
   * @param value broadcasts to the shape of the place
   * @param items the place
   */
  public void indexPut(Tensor value, Index... items) {
    Native.index_put(this, items, value);
  }

  /**
   * Each element brought between two bounds.
   *
   * @param low the lower
   * @param high the upper
   * @return a tensor
   */
  public Tensor clip(double low, double high) {
    try (Tensor a = operand(low);
        Tensor b = operand(high)) {
      return clip(a, b);
    }
  }

  // ------------------------------------------------------------------------------- Gradients

  /** {@return this leaf, whose gradient is wanted from now on} */
  public Tensor requireGrad() {
    Native.require_grad(this);
    return this;
  }

  /**
   * Switches whether the gradient of this leaf is wanted.
   *
   * @param require whether it is
   */
  public void setRequiresGrad(boolean require) {
    Native.set_requires_grad(this, require);
  }

  /** {@return whether it is a leaf whose gradient is wanted, or carries a history} */
  public boolean requiresGrad() {
    return Native.requires_grad(this);
  }

  /** {@return whether it has no history} */
  public boolean isLeaf() {
    return Native.is_leaf(this);
  }

  /** Adds the gradient of this single number to each leaf that requires one. */
  public void backward() {
    Native.backward(this);
  }

  /**
   * Adds the gradient of sum(this * gradient) to each leaf that requires one.
   *
   * @param gradient with this tensor's shape, or null for ones
   */
  public void backward(Tensor gradient) {
    backward(gradient, false, false);
  }

  /**
   * Adds the gradient of sum(this * gradient) to each leaf that requires one.
   *
   * @param gradient with this tensor's shape, or null for ones
   * @param retain whether to keep the history
   * @param differentiable whether the gradients carry a history too
   */
  public void backward(Tensor gradient, boolean retain, boolean differentiable) {
    Native.backward_with(this, gradient, retain, differentiable);
  }

  /** {@return the gradient accumulated in this leaf, or null while there is none} */
  public Tensor gradient() {
    return Native.gradient(this);
  }

  /**
   * Replaces the gradient of this leaf.
   *
   * @param gradient with this tensor's shape and type, or null to remove it
   */
  public void setGradient(Tensor gradient) {
    Native.set_gradient(this, gradient);
  }

  /** Removes the gradient of this leaf. */
  public void zeroGrad() {
    Native.zero_grad(new Tensor[] {this});
  }

  /** {@return the plan that a read of this tensor would run now} */
  public String explain() {
    return Native.explain(this);
  }

  /** {@return the same plan for Graphviz} */
  public String explainDot() {
    return Native.explain_dot(this);
  }
}
