// SPDX-License-Identifier: Apache-2.0
package org.mtorch;

/** Files of single tensors. (Of several: {@link Parameters}.) */
public final class TensorFiles {
  private TensorFiles() {}

  /**
   * Reads a NumPy .npy file.
   *
   * @param path the file
   * @return its tensor
   */
  public static Tensor readNpy(String path) {
    return readNpy(path, null);
  }

  /**
   * Reads a NumPy .npy file.
   *
   * @param path the file
   * @param device where its tensor goes; null for the usual one
   * @return its tensor
   */
  public static Tensor readNpy(String path, String device) {
    return Native.load_npy(path, device);
  }

  /**
   * Writes a NumPy .npy file.
   *
   * @param tensor what to write
   * @param path the file
   */
  public static void saveNpy(Tensor tensor, String path) {
    Native.save_npy(tensor, path);
  }

  /**
   * Reads an IDX file, as MNIST's, plain or gzip.
   *
   * @param path the file
   * @return its tensor
   */
  public static Tensor readIdx(String path) {
    return readIdx(path, null);
  }

  /**
   * Reads an IDX file, as MNIST's, plain or gzip.
   *
   * @param path the file
   * @param device where its tensor goes; null for the usual one
   * @return its tensor
   */
  public static Tensor readIdx(String path, String device) {
    return Native.load_idx(path, device);
  }
}
