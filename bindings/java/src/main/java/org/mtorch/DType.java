// SPDX-License-Identifier: Apache-2.0
package org.mtorch;

/** The element types of tensors. */
public enum DType {
  /** true or false, a byte each. */
  BOOL(0x10806),
  /** Integers from 0 to 255. */
  UINT8(0x10801),
  /** Unsigned integers of 16 bits. */
  UINT16(0x11001),
  /** Unsigned integers of 32 bits. */
  UINT32(0x12001),
  /** Unsigned integers of 64 bits. */
  UINT64(0x14001),
  /** Java's byte. */
  INT8(0x10800),
  /** Java's short. */
  INT16(0x11000),
  /** Java's int. */
  INT32(0x12000),
  /** Java's long. */
  INT64(0x14000),
  /** Floats of 16 bits by IEEE 754. */
  FLOAT16(0x11002),
  /** The upper 16 bits of float32. */
  BFLOAT16(0x11004),
  /** Java's float. */
  FLOAT32(0x12002),
  /** Java's double. */
  FLOAT64(0x14002);

  final int code;

  DType(int code) {
    this.code = code;
  }

  /** What C calls it; 0, none, for null. */
  static int code(DType dtype) {
    return dtype == null ? 0 : dtype.code;
  }

  static DType of(int code) {
    for (DType dtype : values()) {
      if (dtype.code == code) return dtype;
    }
    throw new IllegalStateException("no element type has the code " + code);
  }

  /** {@return the bytes of one element} */
  public int bytes() {
    return (code >> 8 & 0xff) / 8;
  }

  /** {@return whether the elements are floats} */
  public boolean isFloat() {
    int kind = code & 0xff;
    return kind == 2 || kind == 4;
  }

  /**
   * The type in which an operator of both works.
   *
   * @param a one operand's type
   * @param b the other's
   * @return the Array API standard's promotion; further, an integer or bool with a float gives the
   *     float, and float16 with bfloat16 gives float32
   */
  public static DType promote(DType a, DType b) {
    return Native.promote_types(a, b);
  }
}
