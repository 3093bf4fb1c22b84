// SPDX-License-Identifier: Apache-2.0
package org.mtorch;

import java.nio.charset.StandardCharsets;

/** Text as the library has it. */
final class NativeText {
  private NativeText() {}

  static byte[] bytes(String text) {
    if (text == null) return null;
    if (text.indexOf('\0') >= 0) { // where text ends in C
      throw new MTorchException(ErrorCode.INVALID, "text has a NUL in it: " + text.replace("\0", "\\0"));
    }
    return text.getBytes(StandardCharsets.UTF_8);
  }

  static String of(byte[] text) {
    return text == null ? null : new String(text, StandardCharsets.UTF_8);
  }
}
