// SPDX-License-Identifier: Apache-2.0
package org.mtorch;

/** Devices, their memory, and threads. A device that is null is the usual one. */
public final class Devices {
  private Devices() {}

  /** {@return the version of the library, as "0.1.0"} */
  public static String version() {
    return Native.version_text();
  }

  /** {@return the devices that this process can use} */
  public static String[] names() {
    String[] names = new String[(int) Native.device_count()];
    for (int i = 0; i < names.length; i++) names[i] = Native.device_name(i);
    return names;
  }

  /**
   * What a device is, in words.
   *
   * @param device its name
   * @return a description
   */
  public static String description(String device) {
    return Native.device_description(device);
  }

  /**
   * Whether a device can be used.
   *
   * @param device its name
   * @return whether it is there; false for what is no name of one
   */
  public static boolean isAvailable(String device) {
    return Native.device_available(device);
  }

  /** {@return the LAPACK that linear algebra runs on; "" for none} */
  public static String lapack() {
    return Native.lapack();
  }

  /** {@return the device that null stands for} */
  public static String usual() {
    return Native.default_device();
  }

  /**
   * Sets the device that null stands for, for the whole process.
   *
   * @param device its name
   */
  public static void setUsual(String device) {
    Native.set_default_device(device);
  }

  /** {@return how many threads CPU kernels use} */
  public static int threads() {
    return Native.threads();
  }

  /**
   * Sets how many threads CPU kernels use, for the whole process. Never changes a result.
   *
   * @param threads at least 1
   */
  public static void setThreads(int threads) {
    Native.set_threads(threads);
  }

  /**
   * Bytes held by values now.
   *
   * @param device its name
   * @return bytes
   */
  public static long memoryUsed(String device) {
    return Native.memory_number(device, 0);
  }

  /**
   * The most bytes held by values so far.
   *
   * @param device its name
   * @return bytes
   */
  public static long memoryPeak(String device) {
    return Native.memory_number(device, 1);
  }

  /**
   * Starts the peak anew, from what is used now.
   *
   * @param device its name
   */
  public static void resetMemoryPeak(String device) {
    Native.reset_peak_memory(device);
  }

  /**
   * Refuses what would take the memory used beyond so many bytes.
   *
   * @param device its name
   * @param bytes the limit; 0 for none
   */
  public static void setMemoryLimit(String device, long bytes) {
    Native.set_memory_limit(device, bytes);
  }

  /**
   * Gives cached memory back to the system.
   *
   * @param device its name
   */
  public static void releaseCachedMemory(String device) {
    Native.release_cached_memory(device);
  }

  /**
   * Switches whether each operator runs as it is called, unfused: for debugging.
   *
   * @param eager whether it does
   */
  public static void setEager(boolean eager) {
    Native.set_eager(eager);
  }

  /**
   * Switches whether an operator that makes a NaN from operands without one fails, naming itself.
   * Operators run as they are called then.
   *
   * @param on whether it is
   */
  public static void setNanCheck(boolean on) {
    Native.set_nan_check(on);
  }
}
