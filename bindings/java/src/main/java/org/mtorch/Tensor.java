// SPDX-License-Identifier: Apache-2.0
package org.mtorch;

import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.DoubleBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.nio.ShortBuffer;

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
public final class Tensor extends Operators {
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

  // ------------------------------------------------------------------------------- Creation

  /**
   * A copy of an array.
   *
   * @param values the elements, row-major
   * @param shape its sizes; none for one dimension
   * @return a tensor of float32
   */
  public static Tensor of(float[] values, long... shape) {
    return copyOf(values, values.length, DType.FLOAT32, shape);
  }

  /**
   * A copy of an array.
   *
   * @param values the elements, row-major
   * @param shape its sizes; none for one dimension
   * @return a tensor of float64
   */
  public static Tensor of(double[] values, long... shape) {
    return copyOf(values, values.length, DType.FLOAT64, shape);
  }

  /**
   * A copy of an array.
   *
   * @param values the elements, row-major
   * @param shape its sizes; none for one dimension
   * @return a tensor of int64
   */
  public static Tensor of(long[] values, long... shape) {
    return copyOf(values, values.length, DType.INT64, shape);
  }

  /**
   * A copy of an array.
   *
   * @param values the elements, row-major
   * @param shape its sizes; none for one dimension
   * @return a tensor of int32
   */
  public static Tensor of(int[] values, long... shape) {
    return copyOf(values, values.length, DType.INT32, shape);
  }

  /**
   * A copy of an array.
   *
   * @param values the elements, row-major
   * @param shape its sizes; none for one dimension
   * @return a tensor of int16
   */
  public static Tensor of(short[] values, long... shape) {
    return copyOf(values, values.length, DType.INT16, shape);
  }

  /**
   * A copy of an array.
   *
   * @param values the elements, row-major
   * @param shape its sizes; none for one dimension
   * @return a tensor of int8
   */
  public static Tensor of(byte[] values, long... shape) {
    return copyOf(values, values.length, DType.INT8, shape);
  }

  /**
   * A copy of an array.
   *
   * @param values the elements, row-major
   * @param shape its sizes; none for one dimension
   * @return a tensor of bool
   */
  public static Tensor of(boolean[] values, long... shape) {
    return copyOf(values, values.length, DType.BOOL, shape);
  }

  private static Tensor copyOf(Object array, int length, DType dtype, long[] shape) {
    long[] sizes = shape.length == 0 ? new long[] {length} : shape;
    Shapes.check(length, sizes);
    return Native.copy_array(array, sizes, dtype, null);
  }

  /**
   * A number without dimensions that takes the other operand's type.
   *
   * @param value the number
   * @return a tensor, float32 where it stands alone
   */
  public static Tensor scalar(double value) {
    return Native.number(value);
  }

  /**
   * A whole number without dimensions that takes the other operand's type.
   *
   * @param value the number
   * @return a tensor, int64 where it stands alone
   */
  public static Tensor scalar(long value) {
    return Native.whole_number(value);
  }

  /**
   * All elements 0.
   *
   * @param shape its sizes
   * @return a tensor of float32
   */
  public static Tensor zeros(long... shape) {
    return zeros(DType.FLOAT32, shape);
  }

  /**
   * All elements 0.
   *
   * @param dtype the element type
   * @param shape its sizes
   * @return a tensor
   */
  public static Tensor zeros(DType dtype, long... shape) {
    return Native.zeros(shape, dtype, null);
  }

  /**
   * All elements 1.
   *
   * @param shape its sizes
   * @return a tensor of float32
   */
  public static Tensor ones(long... shape) {
    return ones(DType.FLOAT32, shape);
  }

  /**
   * All elements 1.
   *
   * @param dtype the element type
   * @param shape its sizes
   * @return a tensor
   */
  public static Tensor ones(DType dtype, long... shape) {
    return Native.ones(shape, dtype, null);
  }

  /**
   * All elements of one value.
   *
   * @param value the value, converted to the type
   * @param dtype the element type
   * @param shape its sizes
   * @return a tensor
   */
  public static Tensor full(double value, DType dtype, long... shape) {
    return Native.full(shape, value, dtype, null);
  }

  /**
   * start, start + step, ... before {@code stop}.
   *
   * @param start the first element
   * @param stop the end, not included
   * @param step the difference
   * @param dtype the element type
   * @return a tensor of one dimension
   */
  public static Tensor arange(double start, double stop, double step, DType dtype) {
    return Native.arange(start, stop, step, dtype, null);
  }

  /**
   * Floats spread evenly, both ends included.
   *
   * @param start the first element
   * @param stop the last element
   * @param count how many
   * @return a tensor of float32 and one dimension
   */
  public static Tensor linspace(double start, double stop, long count) {
    return Native.linspace(start, stop, count, DType.FLOAT32, null);
  }

  /**
   * 1 on a diagonal, else 0.
   *
   * @param rows how many rows
   * @param columns how many columns
   * @param k the diagonal: 0 the main one, positive above it
   * @param dtype the element type
   * @return a tensor of two dimensions
   */
  public static Tensor eye(long rows, long columns, long k, DType dtype) {
    return Native.eye(rows, columns, k, dtype, null);
  }

  // ----------------------------------------------------------------------- Memory that is shared

  /**
   * A tensor over the memory of a direct buffer, from its position on, without a copy. The memory
   * must not be written while the library needs it; the buffer is kept alive that long.
   *
   * @param memory a direct buffer in the order of this machine
   * @param dtype the element type
   * @param shape its sizes, which take all that remains in the buffer
   * @return a tensor on the CPU
   */
  public static Tensor wrap(ByteBuffer memory, DType dtype, long... shape) {
    return wrap(memory, 1, ByteOrder.nativeOrder(), dtype, shape, false);
  }

  /**
   * A tensor over a direct buffer of floats, as {@link #wrap(ByteBuffer, DType, long...)}.
   *
   * @param memory a direct buffer in the order of this machine
   * @param shape its sizes
   * @return a tensor of float32
   */
  public static Tensor wrap(FloatBuffer memory, long... shape) {
    return wrap(memory, 4, memory.order(), DType.FLOAT32, shape, false);
  }

  /**
   * A tensor over a direct buffer of doubles, as {@link #wrap(ByteBuffer, DType, long...)}.
   *
   * @param memory a direct buffer in the order of this machine
   * @param shape its sizes
   * @return a tensor of float64
   */
  public static Tensor wrap(DoubleBuffer memory, long... shape) {
    return wrap(memory, 8, memory.order(), DType.FLOAT64, shape, false);
  }

  /**
   * A tensor over a direct buffer of longs, as {@link #wrap(ByteBuffer, DType, long...)}.
   *
   * @param memory a direct buffer in the order of this machine
   * @param shape its sizes
   * @return a tensor of int64
   */
  public static Tensor wrap(LongBuffer memory, long... shape) {
    return wrap(memory, 8, memory.order(), DType.INT64, shape, false);
  }

  /**
   * A tensor over a direct buffer of ints, as {@link #wrap(ByteBuffer, DType, long...)}.
   *
   * @param memory a direct buffer in the order of this machine
   * @param shape its sizes
   * @return a tensor of int32
   */
  public static Tensor wrap(IntBuffer memory, long... shape) {
    return wrap(memory, 4, memory.order(), DType.INT32, shape, false);
  }

  /**
   * A tensor over memory that its owner keeps writing: operators that read it run at once.
   *
   * @param memory a direct buffer in the order of this machine
   * @param dtype the element type
   * @param shape its sizes
   * @return a tensor on the CPU
   */
  public static Tensor wrapMutable(ByteBuffer memory, DType dtype, long... shape) {
    return wrap(memory, 1, ByteOrder.nativeOrder(), dtype, shape, true);
  }

  private static Tensor wrap(
      Buffer memory, int unit, ByteOrder order, DType dtype, long[] shape, boolean rewritten) {
    if (order != ByteOrder.nativeOrder()) {
      throw new MTorchException(ErrorCode.INVALID, "wrap: the buffer has another byte order");
    }
    Shapes.check((long) memory.remaining() * unit / dtype.bytes(), shape);
    return Native.wrap_buffer(memory, (long) memory.position() * unit, shape, dtype, rewritten);
  }

  /**
   * All elements, row-major, as a direct read-only buffer in the order of this machine: without a
   * copy where they lie so on the CPU. It stays valid, whatever becomes of the tensor, as long as
   * it or a buffer made from it is referred to.
   *
   * @return a buffer of the elements' bytes
   */
  public ByteBuffer toByteBuffer() {
    if (size() * dtype().bytes() > Integer.MAX_VALUE) {
      throw new MTorchException(ErrorCode.SHAPE, "tensor: too large for a buffer");
    }
    long view = Native.view_open(this);
    ByteBuffer buffer = (ByteBuffer) Native.view_buffer(view);
    CLEANER.register(buffer, () -> Native.view_close(view));
    return buffer.asReadOnlyBuffer().order(ByteOrder.nativeOrder());
  }

  /** {@return the elements, of float32, as {@link #toByteBuffer()} gives them} */
  public FloatBuffer toFloatBuffer() {
    return typed(DType.FLOAT32).asFloatBuffer();
  }

  /** {@return the elements, of float64, as {@link #toByteBuffer()} gives them} */
  public DoubleBuffer toDoubleBuffer() {
    return typed(DType.FLOAT64).asDoubleBuffer();
  }

  /** {@return the elements, of int64, as {@link #toByteBuffer()} gives them} */
  public LongBuffer toLongBuffer() {
    return typed(DType.INT64).asLongBuffer();
  }

  /** {@return the elements, of int32, as {@link #toByteBuffer()} gives them} */
  public IntBuffer toIntBuffer() {
    return typed(DType.INT32).asIntBuffer();
  }

  /** {@return the elements, of int16 or a 16-bit float, as {@link #toByteBuffer()} gives them} */
  public ShortBuffer toShortBuffer() {
    if (dtype().bytes() != 2) typed(DType.INT16);
    return toByteBuffer().asShortBuffer();
  }

  private ByteBuffer typed(DType wanted) {
    if (dtype() != wanted) {
      throw new MTorchException(ErrorCode.DTYPE, "tensor: " + dtype() + " read as " + wanted);
    }
    return toByteBuffer();
  }

  // --------------------------------------------------------------------------- Reading by copy

  /** {@return all elements, row-major, converted to float} */
  public float[] toFloatArray() {
    float[] values = new float[elements()];
    copyTo(values, DType.FLOAT32);
    return values;
  }

  /** {@return all elements, row-major, converted to double} */
  public double[] toDoubleArray() {
    double[] values = new double[elements()];
    copyTo(values, DType.FLOAT64);
    return values;
  }

  /** {@return all elements, row-major, converted to long} */
  public long[] toLongArray() {
    long[] values = new long[elements()];
    copyTo(values, DType.INT64);
    return values;
  }

  /** {@return all elements, row-major, converted to int} */
  public int[] toIntArray() {
    int[] values = new int[elements()];
    copyTo(values, DType.INT32);
    return values;
  }

  /** {@return all elements, row-major: whether each is not 0} */
  public boolean[] toBooleanArray() {
    boolean[] values = new boolean[elements()];
    copyTo(values, DType.BOOL);
    return values;
  }

  private int elements() {
    return Math.toIntExact(size());
  }

  private void copyTo(Object array, DType dtype) {
    try (Tensor converted = astype(dtype)) {
      Native.copy_to_array(converted, array);
    }
  }

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
   * Cuts along an axis.
   *
   * @param axis the axis
   * @param sizes of the pieces, which add up to the axis
   * @return the pieces
   */
  public Tensor[] split(long axis, long... sizes) {
    return Native.split(this, sizes, axis);
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
    return Native.topk(this, k, axis, largest);
  }

  /** {@return the distinct elements, where each occurs first, the inverse, and the counts} */
  public Tensor[] uniqueAll() {
    return Native.unique_all(this);
  }

  /** {@return the sign of the determinant, and the logarithm of its magnitude} */
  public Tensor[] slogdet() {
    return Native.slogdet(this);
  }

  /**
   * Orthonormal columns times an upper triangle.
   *
   * @param complete whether there are as many columns as rows, else as the smaller size
   * @return q and r
   */
  public Tensor[] qr(boolean complete) {
    return Native.qr(this, complete);
  }

  /** {@return the eigenvalues, ascending, and eigenvectors, as columns, of symmetric matrices} */
  public Tensor[] eigh() {
    return Native.eigh(this);
  }

  /**
   * Singular values and vectors.
   *
   * @param full whether the vectors are completed to a basis
   * @return u, s and the transpose of v
   */
  public Tensor[] svd(boolean full) {
    return Native.svd(this, full);
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
    return Native.rnn(this, state, weightIh, weightHh, biasIh, biasHh);
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
    return Native.gru(this, state, weightIh, weightHh, biasIh, biasHh);
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
    return Native.lstm(this, state, cell, weightIh, weightHh, biasIh, biasHh);
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
