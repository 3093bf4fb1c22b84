// SPDX-License-Identifier: Apache-2.0
package org.mtorch;

/** How exactly products of float32 matrices are formed. */
public enum Precision {
  /** Float32 as written: the same bits on every machine. */
  STRICT,
  /** Each number as the sum of three bfloat16, with errors like float32's own. */
  SPLIT,
  /** Each number rounded to bfloat16; sums in float32. */
  BF16,
  /** Each number rounded to 11 significant bits, on GPUs; sums in float32. */
  TF32;

  /** {@return the mode that products are recorded in} */
  public static Precision ofProducts() {
    return values()[Native.matmul_precision()];
  }

  /**
   * Sets the mode that products are recorded in, for the whole process. What was recorded before
   * keeps its mode, and so do its gradients.
   *
   * @param precision the mode; {@link #STRICT} at first
   */
  public static void setOfProducts(Precision precision) {
    Native.set_matmul_precision(precision.ordinal());
  }

  /**
   * Whether a device has something faster for this mode than strict float32.
   *
   * @param device its name
   * @return whether it has
   */
  public boolean isAvailable(String device) {
    return Native.matmul_precision_available(ordinal(), device);
  }
}
