// SPDX-License-Identifier: Apache-2.0
package org.mtorch;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * What owns a native object. It counts the calls that use the object now, so that one that is
 * closed meanwhile, by another thread or by the garbage collector, is freed when the last of them
 * returns.
 */
final class Handle implements Runnable {
  static final int TENSOR = 0;
  static final int PARAMETERS = 1;
  static final int OPTIMIZER = 2;
  static final int TAPE = 3;
  static final int GENERATOR = 4;
  static final int TRACE = 5;
  static final int LOADER = 6;
  static final int KERNEL = 7;
  static final int PROFILE = 8;

  private static final long CLOSED_ADDRESS = -1;
  // What `users` has added once it is closed, and is about once it is freed.
  private static final int CLOSED = 1 << 29;
  private static final int FREED = 1 << 30;
  private static final VarHandle USERS;

  static {
    try {
      USERS = MethodHandles.lookup().findVarHandle(Handle.class, "users", int.class);
    } catch (ReflectiveOperationException error) {
      throw new ExceptionInInitializerError(error);
    }
  }

  private final int kind;
  private final long address;
  private volatile int users;
  volatile boolean kept; // moved out of its scope
  volatile boolean collected; // left to the garbage collector

  Handle(int kind, long address) {
    this.kind = kind;
    this.address = address;
  }

  /** The address for a call, after which leave() is due; 0 for null, CLOSED_ADDRESS if closed. */
  static long enter(NativeObject object) {
    if (object == null) return 0;
    Handle handle = object.handle;
    int before = (int) USERS.getAndAdd(handle, 1);
    if (before < CLOSED) return handle.address;
    handle.leave();
    return CLOSED_ADDRESS;
  }

  static void leave(NativeObject object, long entered) {
    if (entered == 0 || entered == CLOSED_ADDRESS) return;
    object.handle.leave();
  }

  private void leave() {
    if ((int) USERS.getAndAdd(this, -1) == CLOSED + 1) tryFree();
  }

  static long[] enterAll(NativeObject[] objects) {
    long[] entered = new long[objects.length];
    for (int i = 0; i < entered.length; i++) entered[i] = enter(objects[i]);
    return entered;
  }

  static void leaveAll(NativeObject[] objects, long[] entered) {
    for (int i = 0; i < entered.length; i++) leave(objects[i], entered[i]);
  }

  boolean isClosed() {
    return users >= CLOSED;
  }

  /** Closes it; the second time does nothing. */
  @Override
  public void run() {
    int before;
    do {
      before = users;
      if (before >= CLOSED) return;
    } while (!USERS.compareAndSet(this, before, before + CLOSED));
    if (collected) Pressure.less();
    if (before == 0) tryFree();
  }

  // Frees the object once, when it is closed and nobody uses it.
  private void tryFree() {
    if (!USERS.compareAndSet(this, CLOSED, FREED)) return;
    if (kind == TRACE) {
      Native.trace_release(address);
    } else {
      Native.release(kind, address);
    }
  }
}
