// SPDX-License-Identifier: Apache-2.0
package org.mtorch;

/** The kinds of errors: the C interface's codes. */
public enum ErrorCode {
  /** A value, axis, name or state that cannot be; also an object that is closed. */
  INVALID(-1),
  /** Shapes that do not fit. */
  SHAPE(-2),
  /** Element types that do not fit. */
  DTYPE(-3),
  /** Out of memory, or over the limit that was set. */
  MEMORY(-4),
  /** No such device, devices that differ, or a device that failed. */
  DEVICE(-5),
  /** A callback failed. */
  USER(-6),
  /** Something required was null. */
  MISSING(-7),
  /** A gradient was asked for that does not exist. */
  NO_GRADIENT(-8),
  /** A file that cannot be read, written or understood. */
  IO(-9),
  /** An index or axis out of range. */
  INDEX(-10),
  /** Not possible inside a trace. */
  TRACE(-11),
  /** Valid, but this build or device cannot do it. */
  UNSUPPORTED(-12);

  final int code;

  ErrorCode(int code) {
    this.code = code;
  }

  static ErrorCode of(int code) {
    int i = -1 - code;
    return i >= 0 && i < values().length ? values()[i] : USER;
  }
}
