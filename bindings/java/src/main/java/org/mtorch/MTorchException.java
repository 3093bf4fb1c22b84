// SPDX-License-Identifier: Apache-2.0
package org.mtorch;

import java.nio.charset.StandardCharsets;

/** What went wrong in the library: its message, which names the operator and what did not fit. */
public final class MTorchException extends RuntimeException {
  private static final long serialVersionUID = 1;

  /** What kind of error it is. */
  private final ErrorCode code;

  /**
   * An error, for callbacks that fail.
   *
   * @param code what kind of error it is
   * @param message what went wrong
   */
  public MTorchException(ErrorCode code, String message) {
    super(message);
    this.code = code;
  }

  MTorchException(int code, byte[] message) {
    this(ErrorCode.of(code), new String(message, StandardCharsets.UTF_8));
  }

  /** {@return what kind of error it is} */
  public ErrorCode code() {
    return code;
  }
}
