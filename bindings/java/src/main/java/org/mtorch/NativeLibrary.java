// SPDX-License-Identifier: Apache-2.0
package org.mtorch;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;

/**
 * Loads the native code, which lies in the jar. The system property {@code org.mtorch.library}
 * names a folder to take it from instead.
 */
final class NativeLibrary {
  // In the order in which they need each other.
  private static final String[] FILES = {"libmtorch.so.0", "libmtorch_java.so"};

  private NativeLibrary() {}

  static void load() {
    String folder = System.getProperty("org.mtorch.library");
    if (folder != null) {
      for (String file : FILES) System.load(Path.of(folder, file).toAbsolutePath().toString());
      return;
    }
    String place =
        "native/" + name(System.getProperty("os.name")) + "-" + name(System.getProperty("os.arch"));
    try {
      Path temporary = Files.createTempDirectory("mtorch");
      try {
        for (String file : FILES) copy(place + "/" + file, temporary.resolve(file));
        for (String file : FILES) System.load(temporary.resolve(file).toString());
      } finally {
        // What is loaded stays without its name.
        for (String file : FILES) Files.deleteIfExists(temporary.resolve(file));
        Files.deleteIfExists(temporary);
      }
    } catch (IOException error) {
      throw new UncheckedIOException("cannot unpack the native library", error);
    }
  }

  private static String name(String property) {
    String lower = property.toLowerCase(Locale.ROOT);
    return lower.equals("x86_64") ? "amd64" : lower;
  }

  private static void copy(String resource, Path target) throws IOException {
    try (InputStream in = NativeLibrary.class.getResourceAsStream(resource)) {
      if (in == null) {
        throw new UnsatisfiedLinkError(
            "this jar has no native library for this system: org/mtorch/" + resource);
      }
      Files.copy(in, target);
    }
  }
}
