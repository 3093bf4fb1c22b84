// SPDX-License-Identifier: Apache-2.0
package org.mtorch;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** How a {@link Kernel} is run, and what it makes. Each method returns the launch itself. */
public final class Launch {
  private final long[] grid;
  private long[] block = {1, 1, 1};
  private long sharedBytes;
  String device;
  double[] numbers = {};
  final List<DType> dtypes = new ArrayList<>();
  private final List<long[]> shapes = new ArrayList<>();

  /**
   * A grid of single cells.
   *
   * @param grid blocks along x, y and z; what is left out is 1
   */
  public Launch(long... grid) {
    this.grid = three("grid", grid);
  }

  /**
   * Sets the threads of a block.
   *
   * @param sizes along x, y and z; what is left out is 1
   * @return this
   */
  public Launch block(long... sizes) {
    block = three("block", sizes);
    return this;
  }

  /**
   * Adds a result.
   *
   * @param dtype its type
   * @param shape its sizes
   * @return this
   */
  public Launch result(DType dtype, long... shape) {
    dtypes.add(dtype);
    shapes.add(Arrays.copyOf(shape, shape.length));
    return this;
  }

  /**
   * Sets the numbers that the kernel gets; a trace holds them as constants.
   *
   * @param values the numbers
   * @return this
   */
  public Launch numbers(double... values) {
    numbers = Arrays.copyOf(values, values.length);
    return this;
  }

  /**
   * Sets the dynamic shared memory of a block, on a GPU.
   *
   * @param bytes how much
   * @return this
   */
  public Launch sharedBytes(long bytes) {
    sharedBytes = bytes;
    return this;
  }

  /**
   * Sets the device of a kernel without inputs.
   *
   * @param name as "cpu"; null for the default
   * @return this
   */
  public Launch device(String name) {
    device = name;
    return this;
  }

  boolean runsOnCpu(Tensor[] inputs) {
    String where = device;
    if (where == null) where = inputs.length > 0 ? inputs[0].device() : Devices.usual();
    return where.startsWith("cpu");
  }

  Kernel.Form[] forms() {
    Kernel.Form[] forms = new Kernel.Form[shapes.size()];
    for (int i = 0; i < forms.length; i++) forms[i] = new Kernel.Form(dtypes.get(i), shapes.get(i));
    return forms;
  }

  /** Grid, block and shared bytes. */
  long[] geometry() {
    return new long[] {grid[0], grid[1], grid[2], block[0], block[1], block[2], sharedBytes};
  }

  /** Of each result: type, number of sizes, sizes. */
  long[] codes() {
    List<Long> codes = new ArrayList<>();
    for (int i = 0; i < shapes.size(); i++) {
      codes.add((long) dtypes.get(i).code);
      codes.add((long) shapes.get(i).length);
      for (long size : shapes.get(i)) codes.add(size);
    }
    return codes.stream().mapToLong(Long::longValue).toArray();
  }

  private static long[] three(String what, long[] sizes) {
    if (sizes.length < 1 || sizes.length > 3) {
      throw new MTorchException(ErrorCode.INVALID, what + ": 1 to 3 numbers");
    }
    long[] all = {1, 1, 1};
    System.arraycopy(sizes, 0, all, 0, sizes.length);
    return all;
  }
}
