// SPDX-License-Identifier: Apache-2.0
package org.mtorch;

import java.lang.ref.Cleaner;

/**
 * An object of the library. Its native memory is freed by {@link #close()}; what is never closed is
 * freed some time after nothing refers to it any more.
 */
abstract class NativeObject implements AutoCloseable {
  static final Cleaner CLEANER = Cleaner.create();

  final Handle handle;
  private Cleaner.Cleanable cleanable; // null while a scope owns it

  /** Managed objects are freed with their scope, or by the garbage collector. */
  NativeObject(int kind, long address, boolean managed) {
    ThreadState.notice();
    handle = new Handle(kind, address);
    if (managed && (kind != Handle.TENSOR || !Scope.add(handle))) collect();
  }

  /** Leaves it to the garbage collector. */
  final void collect() {
    if (cleanable != null) return;
    handle.collected = true;
    cleanable = CLEANER.register(this, handle);
    Pressure.more();
  }

  /** Frees the native memory now. Closing a second time does nothing. */
  @Override
  public void close() {
    if (cleanable != null) {
      cleanable.clean();
    } else {
      handle.run();
    }
  }

  /** {@return whether it was closed} */
  public final boolean isClosed() {
    return handle.isClosed();
  }
}
