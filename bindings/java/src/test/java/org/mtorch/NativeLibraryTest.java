// SPDX-License-Identifier: Apache-2.0
package org.mtorch;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;

class NativeLibraryTest {
  /** All that the library needs comes out of the jar, whatever this system has. */
  @Test
  void whatIsLoadedIsTheJars() throws IOException {
    assertEquals(3, Tensor.ones(3).sum().item());
    List<String> order;
    try (InputStream in = Tensor.class.getResourceAsStream("native/linux-amd64/order")) {
      if (in == null) return; // another machine's jar
      order = new String(in.readAllBytes(), StandardCharsets.UTF_8).lines().toList();
    }
    assertFalse(order.stream().filter(name -> name.startsWith("libhwy")).toList().isEmpty());
    for (String line : Files.readAllLines(Path.of("/proc/self/maps"))) {
      String path = line.substring(line.indexOf('/') < 0 ? line.length() : line.indexOf('/'));
      for (String name : order) {
        if (name.equals("libz.so.1")) continue; // Java's own need, too
        assertFalse(path.endsWith("/" + name), path); // "(deleted)" follows the jar's
      }
    }
  }
}
