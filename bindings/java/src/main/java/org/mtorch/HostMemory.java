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

/** Java's memory as tensors, and tensors as Java's memory: shared, or by copy. */
abstract sealed class HostMemory extends SeveralResults permits Creation {
  HostMemory(long address, boolean managed) {
    super(address, managed);
  }

  private Tensor self() {
    return (Tensor) this;
  }

  // --------------------------------------------------------------------------------- Shared

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
    return wrap(memory, 1, memory.order(), dtype, shape, false);
  }

  /**
   * A tensor over a direct buffer of floats, as {@link Tensor#wrap(ByteBuffer, DType, long...)}.
   *
   * @param memory a direct buffer in the order of this machine
   * @param shape its sizes
   * @return a tensor of float32
   */
  public static Tensor wrap(FloatBuffer memory, long... shape) {
    return wrap(memory, 4, memory.order(), DType.FLOAT32, shape, false);
  }

  /**
   * A tensor over a direct buffer of doubles, as {@link Tensor#wrap(ByteBuffer, DType, long...)}.
   *
   * @param memory a direct buffer in the order of this machine
   * @param shape its sizes
   * @return a tensor of float64
   */
  public static Tensor wrap(DoubleBuffer memory, long... shape) {
    return wrap(memory, 8, memory.order(), DType.FLOAT64, shape, false);
  }

  /**
   * A tensor over a direct buffer of longs, as {@link Tensor#wrap(ByteBuffer, DType, long...)}.
   *
   * @param memory a direct buffer in the order of this machine
   * @param shape its sizes
   * @return a tensor of int64
   */
  public static Tensor wrap(LongBuffer memory, long... shape) {
    return wrap(memory, 8, memory.order(), DType.INT64, shape, false);
  }

  /**
   * A tensor over a direct buffer of ints, as {@link Tensor#wrap(ByteBuffer, DType, long...)}.
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
    return wrap(memory, 1, memory.order(), dtype, shape, true);
  }

  private static Tensor wrap(
      Buffer memory, int unit, ByteOrder order, DType dtype, long[] shape, boolean rewritten) {
    if (order != ByteOrder.nativeOrder() && dtype.bytes() > 1) {
      throw new MTorchException(
          ErrorCode.INVALID,
          "wrap: the buffer has another byte order; order(ByteOrder.nativeOrder()) sets this one's");
    }
    Shapes.check((long) memory.remaining() * unit / dtype.bytes(), shape);
    return Native.wrap_buffer(memory, (long) memory.position() * unit, shape, dtype, rewritten);
  }

  /**
   * All elements, row-major, as a direct read-only buffer in the order of this machine: without a
   * copy where they lie so on the CPU. It stays valid, whatever becomes of the tensor, as long as
   * it or a buffer made from it is referred to. A buffer holds less than 2 GB; of a larger tensor take
   * slices along the first axis, which are not copied either.
   *
   * @return a buffer of the elements' bytes
   */
  public ByteBuffer toByteBuffer() {
    fitting(self().size() * self().dtype().bytes(), "bytes", "a buffer");
    long view = Native.view_open(self());
    ByteBuffer buffer = (ByteBuffer) Native.view_buffer(view);
    CLEANER.register(buffer, () -> Native.view_close(view));
    return buffer.asReadOnlyBuffer().order(ByteOrder.nativeOrder());
  }

  /** {@return the elements, of float32, as {@link Tensor#toByteBuffer()} gives them} */
  public FloatBuffer toFloatBuffer() {
    return typed(DType.FLOAT32).asFloatBuffer();
  }

  /** {@return the elements, of float64, as {@link Tensor#toByteBuffer()} gives them} */
  public DoubleBuffer toDoubleBuffer() {
    return typed(DType.FLOAT64).asDoubleBuffer();
  }

  /** {@return the elements, of int64, as {@link Tensor#toByteBuffer()} gives them} */
  public LongBuffer toLongBuffer() {
    return typed(DType.INT64).asLongBuffer();
  }

  /** {@return the elements, of int32, as {@link Tensor#toByteBuffer()} gives them} */
  public IntBuffer toIntBuffer() {
    return typed(DType.INT32).asIntBuffer();
  }

  /** {@return the elements, of int16 or a 16-bit float, as {@link Tensor#toByteBuffer()} gives them} */
  public ShortBuffer toShortBuffer() {
    if (self().dtype().bytes() != 2) typed(DType.INT16);
    return toByteBuffer().asShortBuffer();
  }

  private ByteBuffer typed(DType wanted) {
    if (self().dtype() != wanted) {
      throw new MTorchException(ErrorCode.DTYPE, "tensor: " + self().dtype() + " read as " + wanted);
    }
    return toByteBuffer();
  }

  // -------------------------------------------------------------------------------- By copy

  /** {@return all elements, row-major, converted to float} */
  public float[] toFloatArray() {
    return copiedTo(new float[elements()], DType.FLOAT32);
  }

  /** {@return all elements, row-major, converted to double} */
  public double[] toDoubleArray() {
    return copiedTo(new double[elements()], DType.FLOAT64);
  }

  /** {@return all elements, row-major, converted to long} */
  public long[] toLongArray() {
    return copiedTo(new long[elements()], DType.INT64);
  }

  /** {@return all elements, row-major, converted to int} */
  public int[] toIntArray() {
    return copiedTo(new int[elements()], DType.INT32);
  }

  /** {@return all elements, row-major: whether each is not 0} */
  public boolean[] toBooleanArray() {
    return copiedTo(new boolean[elements()], DType.BOOL);
  }

  private int elements() {
    return fitting(self().size(), "elements", "an array");
  }

  private static int fitting(long count, String what, String where) {
    if (count <= Integer.MAX_VALUE) return (int) count;
    throw new MTorchException(
        ErrorCode.SHAPE,
        "tensor: " + count + " " + what + " are more than " + where + " holds; take slices");
  }

  private <A> A copiedTo(A array, DType dtype) {
    try (Tensor converted = self().astype(dtype)) {
      Native.copy_to_array(converted, array);
      return array;
    }
  }
}
