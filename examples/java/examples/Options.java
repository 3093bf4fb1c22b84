// SPDX-License-Identifier: Apache-2.0
package examples;

import java.util.LinkedHashMap;
import java.util.Map;
import org.mtorch.Devices;
import org.mtorch.Generator;

/** The command line: options that all examples share, and each example's own. */
final class Options {
  private final String program;
  private final Map<String, String> values = new LinkedHashMap<>();
  private final Map<String, String> help = new LinkedHashMap<>();

  Options(String program) {
    this.program = program;
    add("seed", "0", "same seed, same result");
    add("device", "cpu", "cpu, cpu:reference, cuda:0");
    add("threads", "0", "0: as many as the machine has");
    add("out", null, "name of the files to write, without extension");
  }

  /** Adds an option with its default. */
  Options add(String name, String usual, String text) {
    values.put(name, usual);
    help.put(name, text);
    return this;
  }

  /** Reads the command line; sets device, threads and seed. */
  Options parse(String summary, String[] arguments) {
    for (int i = 0; i < arguments.length; i += 2) {
      if (arguments[i].equals("--help")) {
        System.out.printf("Usage: %s [options]%n%n%s%n%n", program, summary);
        help.forEach(
            (name, text) ->
                System.out.printf(
                    "  --%-12s %s%s%n",
                    name, text, values.get(name) == null ? "" : " [" + values.get(name) + "]"));
        System.exit(0);
      }
      String name = arguments[i].startsWith("--") ? arguments[i].substring(2) : "";
      if (!values.containsKey(name)) refuse("unexpected '" + arguments[i] + "'");
      if (i + 1 == arguments.length) refuse("--" + name + " needs a value");
      values.put(name, arguments[i + 1]);
    }
    Devices.setUsual(text("device"));
    int threads = atLeast(0, "threads");
    if (threads > 0) Devices.setThreads(threads);
    Generator.seed(seed());
    return this;
  }

  String text(String name) {
    return values.get(name);
  }

  /** An integer of 1 or more. */
  int count(String name) {
    return atLeast(1, name);
  }

  private int atLeast(int least, String name) {
    try {
      int value = Integer.parseInt(text(name));
      if (value >= least) return value;
    } catch (NumberFormatException error) {
      // refused below
    }
    throw refuse("--" + name + ": cannot use '" + text(name) + "' (" + least + " or more)");
  }

  double real(String name) {
    try {
      return Double.parseDouble(text(name));
    } catch (NumberFormatException error) {
      throw refuse("--" + name + ": cannot use '" + text(name) + "'");
    }
  }

  long seed() {
    try {
      return Long.parseUnsignedLong(text("seed"));
    } catch (NumberFormatException error) {
      throw refuse("--seed: cannot use '" + text("seed") + "'");
    }
  }

  /** What the files to write are called: by --out, or else by the example. */
  String out(String name) {
    return text("out") == null ? name : text("out");
  }

  /** Ends the program: the command line cannot be used. */
  IllegalArgumentException refuse(String message) {
    System.err.printf("%s: %s%nTry '%s --help'.%n", program, message, program);
    System.exit(2);
    return new IllegalArgumentException(message);
  }
}
