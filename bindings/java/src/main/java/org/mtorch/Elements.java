// SPDX-License-Identifier: Apache-2.0
package org.mtorch;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;

/**
 * A tensor's elements, row-major, as a cell of a {@link Kernel} sees them: while the kernel runs,
 * and not after it.
 */
public final class Elements {
  private final DType dtype;
  private final long[] shape;
  private final long size;
  private ByteBuffer memory; // null after the call

  Elements(Kernel.Form form, ByteBuffer memory, boolean writable) {
    dtype = form.dtype();
    shape = form.shape();
    size = form.size();
    ByteBuffer seen = writable ? memory : memory.asReadOnlyBuffer();
    this.memory = seen.order(ByteOrder.nativeOrder());
  }

  void close() {
    memory = null;
  }

  /** {@return the element type} */
  public DType dtype() {
    return dtype;
  }

  /** {@return the sizes} */
  public long[] shape() {
    return Arrays.copyOf(shape, shape.length);
  }

  /** {@return the number of elements} */
  public long size() {
    return size;
  }

  /**
   * An element as a double.
   *
   * @param i its place, row-major
   * @return its value; {@link ErrorCode#DTYPE} for floats of 16 bits, whose bits getLong() gives
   */
  public double get(long i) {
    ByteBuffer m = memory();
    int at = at(i);
    return switch (dtype) {
      case FLOAT32 -> m.getFloat(at);
      case FLOAT64 -> m.getDouble(at);
      case FLOAT16, BFLOAT16 -> throw noNumber();
      case UINT64 -> ofUnsigned(m.getLong(at));
      default -> getLong(i);
    };
  }

  /**
   * An element as a long: integers exactly, those from 2^63 on less 2^64, true as 1, floats without
   * their fraction, those of 16 bits as their bits.
   *
   * @param i its place, row-major
   * @return its value
   */
  public long getLong(long i) {
    ByteBuffer m = memory();
    int at = at(i);
    return switch (dtype) {
      case BOOL, UINT8 -> m.get(at) & 0xff;
      case INT8 -> m.get(at);
      case INT16 -> m.getShort(at);
      case UINT16, FLOAT16, BFLOAT16 -> m.getShort(at) & 0xffff;
      case INT32 -> m.getInt(at);
      case UINT32 -> m.getInt(at) & 0xffffffffL;
      case INT64, UINT64 -> m.getLong(at);
      case FLOAT32 -> (long) m.getFloat(at);
      case FLOAT64 -> (long) m.getDouble(at);
    };
  }

  /**
   * Writes an element of a result.
   *
   * @param i its place, row-major
   * @param value a number, which becomes the element's type as by a cast in Java: what is beyond an
   *     int or a long becomes the nearest one, of which a smaller type keeps the low bits. UINT32 is
   *     cast as a long, UINT64 as one unless the value is beyond it. For a bool whether it is not 0;
   *     {@link ErrorCode#DTYPE} for floats of 16 bits, whose bits setLong() takes
   */
  public void set(long i, double value) {
    ByteBuffer m = memory();
    int at = at(i);
    switch (dtype) {
      case FLOAT32 -> m.putFloat(at, (float) value);
      case FLOAT64 -> m.putDouble(at, value);
      case FLOAT16, BFLOAT16 -> throw noNumber();
      case BOOL -> setLong(i, value != 0 ? 1 : 0);
      case UINT32, INT64 -> setLong(i, (long) value);
      case UINT64 -> m.putLong(at, toUnsigned(value));
      default -> setLong(i, (int) value);
    }
  }

  /**
   * Writes an element of a result.
   *
   * @param i its place, row-major
   * @param value a whole number, of which an integer keeps the low bits; the bits of a 16-bit float
   */
  public void setLong(long i, long value) {
    ByteBuffer m = memory();
    int at = at(i);
    switch (dtype) {
      case BOOL -> m.put(at, (byte) (value != 0 ? 1 : 0));
      case UINT8, INT8 -> m.put(at, (byte) value);
      case INT16, UINT16, FLOAT16, BFLOAT16 -> m.putShort(at, (short) value);
      case INT32, UINT32 -> m.putInt(at, (int) value);
      case INT64, UINT64 -> m.putLong(at, value);
      case FLOAT32 -> m.putFloat(at, value);
      case FLOAT64 -> m.putDouble(at, value);
    }
  }

  // Half of it, with the bit that is lost kept for rounding, is a long.
  private static double ofUnsigned(long bits) {
    return bits >= 0 ? bits : ((bits >>> 1) | (bits & 1)) * 2.0;
  }

  private static long toUnsigned(double value) {
    return value >= 0x1p63 ? (long) (value - 0x1p63) ^ Long.MIN_VALUE : (long) value;
  }

  private ByteBuffer memory() {
    if (memory == null) throw new IllegalStateException("kernel: its call is over");
    return memory;
  }

  private int at(long i) {
    if (i < 0 || i >= size) {
      throw new IndexOutOfBoundsException("kernel: element " + i + " of " + size);
    }
    return (int) (i * dtype.bytes()); // a buffer has at most as many bytes
  }

  private MTorchException noNumber() {
    return new MTorchException(ErrorCode.DTYPE, "kernel: Java has no number for " + dtype);
  }
}
