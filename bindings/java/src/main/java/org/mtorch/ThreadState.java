// SPDX-License-Identifier: Apache-2.0
package org.mtorch;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;

/**
 * Gradient mode and random generator of a virtual thread. The library keeps both for each thread of
 * the system; a virtual thread moves between those, so its own are put in place within each call.
 */
final class ThreadState {
  private static final ThreadLocal<ThreadState> CURRENT = ThreadLocal.withInitial(ThreadState::new);
  private static final MethodHandle IS_VIRTUAL = find();
  private static volatile boolean anyVirtual;

  boolean recording = true;
  private Generator generator; // none before the first call that needs one
  private boolean making;

  private static MethodHandle find() {
    try {
      return MethodHandles.lookup()
          .findVirtual(Thread.class, "isVirtual", MethodType.methodType(boolean.class));
    } catch (ReflectiveOperationException before21) {
      return null;
    }
  }

  private static boolean isVirtual() {
    if (IS_VIRTUAL == null) return false;
    try {
      return (boolean) IS_VIRTUAL.invokeExact(Thread.currentThread());
    } catch (Throwable error) {
      throw new IllegalStateException(error);
    }
  }

  /** Lets the native code know of the first virtual thread. */
  static void notice() {
    if (!anyVirtual && isVirtual()) {
      anyVirtual = true;
      Native.say_virtual();
    }
  }

  /** The state of this thread, or null when the library keeps it. */
  static ThreadState ofVirtual() {
    notice();
    return isVirtual() ? CURRENT.get() : null;
  }

  /** Called by each native call once there are virtual threads: what it is to put in place. */
  private static long enter() {
    ThreadState state = ofVirtual();
    return state == null ? 0 : state.generatorAddress() | (state.recording ? 1 : 0);
  }

  void use(Generator chosen) {
    generator = chosen;
  }

  private long generatorAddress() {
    if (generator != null && generator.isClosed()) generator = null;
    if (generator == null && !making) {
      making = true; // it is a native call, too
      generator = new Generator(0);
      making = false;
    }
    return generator == null ? 0 : generator.address();
  }
}
