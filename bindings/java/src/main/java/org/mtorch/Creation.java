// SPDX-License-Identifier: Apache-2.0
package org.mtorch;

import java.lang.reflect.Array;

/** Tensors out of numbers. Those of arrays come to a device by {@link Tensor#toDevice}. */
abstract sealed class Creation extends HostMemory permits Drawing {
  Creation(long address, boolean managed) {
    super(address, managed);
  }

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

  /**
   * A copy of rows.
   *
   * @param rows arrays of one length
   * @return a matrix of float32
   */
  public static Tensor of(float[][] rows) {
    return copyOfRows(rows, DType.FLOAT32);
  }

  /**
   * A copy of rows.
   *
   * @param rows arrays of one length
   * @return a matrix of float64
   */
  public static Tensor of(double[][] rows) {
    return copyOfRows(rows, DType.FLOAT64);
  }

  /**
   * A copy of rows.
   *
   * @param rows arrays of one length
   * @return a matrix of int64
   */
  public static Tensor of(long[][] rows) {
    return copyOfRows(rows, DType.INT64);
  }

  /**
   * A copy of rows.
   *
   * @param rows arrays of one length
   * @return a matrix of int32
   */
  public static Tensor of(int[][] rows) {
    return copyOfRows(rows, DType.INT32);
  }

  private static Tensor copyOfRows(Object[] rows, DType dtype) {
    int width = rows.length == 0 ? 0 : Array.getLength(rows[0]);
    Class<?> number = rows.getClass().getComponentType().getComponentType();
    Object elements = Array.newInstance(number, Math.multiplyExact(rows.length, width));
    for (int i = 0; i < rows.length; i++) {
      if (Array.getLength(rows[i]) != width) {
        throw new MTorchException(
            ErrorCode.SHAPE,
            "tensor: row " + i + " has " + Array.getLength(rows[i]) + " elements, not " + width);
      }
      System.arraycopy(rows[i], 0, elements, i * width, width);
    }
    return Native.copy_array(elements, new long[] {rows.length, width}, dtype, null);
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
    return zeros(dtype, null, shape);
  }

  /**
   * All elements 0.
   *
   * @param dtype the element type
   * @param device where it is made; null for the usual one
   * @param shape its sizes
   * @return a tensor
   */
  public static Tensor zeros(DType dtype, String device, long... shape) {
    return Native.zeros(shape, dtype, device);
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
    return ones(dtype, null, shape);
  }

  /**
   * All elements 1.
   *
   * @param dtype the element type
   * @param device where it is made; null for the usual one
   * @param shape its sizes
   * @return a tensor
   */
  public static Tensor ones(DType dtype, String device, long... shape) {
    return Native.ones(shape, dtype, device);
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
    return full(value, dtype, null, shape);
  }

  /**
   * All elements of one value.
   *
   * @param value the value, converted to the type
   * @param dtype the element type
   * @param device where it is made; null for the usual one
   * @param shape its sizes
   * @return a tensor
   */
  public static Tensor full(double value, DType dtype, String device, long... shape) {
    return Native.full(shape, value, dtype, device);
  }

  /**
   * start, start + 1, ... before {@code stop}.
   *
   * @param start the first element
   * @param stop the end, not included
   * @return a tensor of int64 of one dimension
   */
  public static Tensor arange(long start, long stop) {
    return arange(start, stop, 1, DType.INT64);
  }

  /**
   * start, start + 1, ... before {@code stop}.
   *
   * @param start the first element
   * @param stop the end, not included
   * @return a tensor of float32 of one dimension
   */
  public static Tensor arange(double start, double stop) {
    return arange(start, stop, 1, DType.FLOAT32);
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
    return arange(start, stop, step, dtype, null);
  }

  /**
   * start, start + step, ... before {@code stop}.
   *
   * @param start the first element
   * @param stop the end, not included
   * @param step the difference
   * @param dtype the element type
   * @param device where it is made; null for the usual one
   * @return a tensor of one dimension
   */
  public static Tensor arange(double start, double stop, double step, DType dtype, String device) {
    return Native.arange(start, stop, step, dtype, device);
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
    return linspace(start, stop, count, DType.FLOAT32, null);
  }

  /**
   * Floats spread evenly, both ends included.
   *
   * @param start the first element
   * @param stop the last element
   * @param count how many
   * @param dtype the element type
   * @param device where it is made; null for the usual one
   * @return a tensor of one dimension
   */
  public static Tensor linspace(
      double start, double stop, long count, DType dtype, String device) {
    return Native.linspace(start, stop, count, dtype, device);
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
    return eye(rows, columns, k, dtype, null);
  }

  /**
   * 1 on a diagonal, else 0.
   *
   * @param rows how many rows
   * @param columns how many columns
   * @param k the diagonal: 0 the main one, positive above it
   * @param dtype the element type
   * @param device where it is made; null for the usual one
   * @return a tensor of two dimensions
   */
  public static Tensor eye(long rows, long columns, long k, DType dtype, String device) {
    return Native.eye(rows, columns, k, dtype, device);
  }
}
