// SPDX-License-Identifier: Apache-2.0
package org.mtorch;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;

/**
 * Loads the native code, which lies in the jar with what it needs. The system property {@code
 * org.mtorch.library} names a folder to take it from instead, for a system that has the rest.
 */
final class NativeLibrary {
  private NativeLibrary() {}

  static void load() {
    String folder = System.getProperty("org.mtorch.library");
    if (folder != null) {
      for (String file : List.of("libmtorch.so.0", "libmtorch_java.so")) {
        System.load(Path.of(folder, file).toAbsolutePath().toString());
      }
      return;
    }
    String place =
        "native/"
            + name(System.getProperty("os.name"))
            + "-"
            + name(System.getProperty("os.arch"))
            + "/";
    try {
      // In the order in which they need each other.
      List<String> files;
      try (InputStream order = open(place + "order")) {
        files = new String(order.readAllBytes(), StandardCharsets.UTF_8).lines().toList();
      }
      Path temporary = Files.createTempDirectory("mtorch");
      try {
        for (String file : files) {
          try (InputStream in = open(place + file)) {
            Files.copy(in, temporary.resolve(file));
          }
          System.load(temporary.resolve(file).toString());
        }
      } finally {
        // What is loaded stays without its name.
        for (String file : files) Files.deleteIfExists(temporary.resolve(file));
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

  private static InputStream open(String resource) {
    InputStream in = NativeLibrary.class.getResourceAsStream(resource);
    if (in == null) {
      throw new UnsatisfiedLinkError(
          "this jar has no native library for this system: org/mtorch/" + resource);
    }
    return in;
  }
}
