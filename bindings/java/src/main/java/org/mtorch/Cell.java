// SPDX-License-Identifier: Apache-2.0
package org.mtorch;

/**
 * Where a cell of a {@link Kernel} is: what CUDA calls blockIdx, threadIdx, blockDim and gridDim.
 *
 * @param block its block
 * @param thread its thread within the block
 * @param blockSize threads of a block
 * @param gridSize blocks of the grid
 */
public record Cell(Place block, Place thread, Place blockSize, Place gridSize) {
  /**
   * Three numbers.
   *
   * @param x the first
   * @param y the second
   * @param z the third
   */
  public record Place(long x, long y, long z) {}

  /** {@return block.x * blockSize.x + thread.x: the cell's place in the whole grid} */
  public long x() {
    return block.x * blockSize.x + thread.x;
  }

  /** {@return the same along y} */
  public long y() {
    return block.y * blockSize.y + thread.y;
  }

  /** {@return the same along z} */
  public long z() {
    return block.z * blockSize.z + thread.z;
  }

  // Twelve numbers in the order of the C struct.
  static Cell of(long[] n) {
    return new Cell(
        new Place(n[0], n[1], n[2]),
        new Place(n[3], n[4], n[5]),
        new Place(n[6], n[7], n[8]),
        new Place(n[9], n[10], n[11]));
  }

  boolean isFirst() {
    return block.x + block.y + block.z + thread.x + thread.y + thread.z == 0;
  }

  boolean isLast() {
    return isLast(block, gridSize) && isLast(thread, blockSize);
  }

  private static boolean isLast(Place place, Place size) {
    return place.x + 1 == size.x && place.y + 1 == size.y && place.z + 1 == size.z;
  }
}
