// SPDX-License-Identifier: Apache-2.0
package org.mtorch;

import java.lang.ref.Cleaner;
import java.util.ArrayList;
import java.util.List;

/**
 * A group of temporary tensors that are freed together:
 *
 * <pre>{@code
 * try (Scope scope = Scope.open()) {
 *   loss = x.matmul(w).sub(y).square().mean().item();
 * }
 * }</pre>
 *
 * Every tensor that this thread makes while the scope is its innermost belongs to it; {@link
 * Tensor#keep()} moves one out. A scope is closed by the thread that opened it, and closes the
 * scopes opened inside it.
 */
public final class Scope implements AutoCloseable {
  private static final ThreadLocal<Scope> INNERMOST = new ThreadLocal<>();

  private final Thread thread = Thread.currentThread();
  private final Scope outer;
  private final List<Handle> owned;
  private final Cleaner.Cleanable cleanable;

  private Scope(Scope outer) {
    this.outer = outer;
    List<Handle> list = new ArrayList<>();
    owned = list;
    cleanable = NativeObject.CLEANER.register(this, () -> free(list)); // should it never be closed
  }

  /** {@return a new scope, the innermost of this thread} */
  public static Scope open() {
    Scope scope = new Scope(INNERMOST.get());
    INNERMOST.set(scope);
    return scope;
  }

  static boolean add(Handle handle) {
    Scope scope = INNERMOST.get();
    if (scope == null) return false;
    scope.owned.add(handle);
    return true;
  }

  /** Ends the scope and those inside it, and frees what they own. */
  @Override
  public void close() {
    if (thread != Thread.currentThread()) {
      throw new MTorchException(ErrorCode.INVALID, "scope: closed by another thread");
    }
    Scope found = INNERMOST.get();
    while (found != null && found != this) found = found.outer;
    if (found == null) return; // closed before
    for (Scope inner = INNERMOST.get(); ; inner = inner.outer) {
      inner.cleanable.clean();
      if (inner == this) break;
    }
    if (outer == null) {
      INNERMOST.remove();
    } else {
      INNERMOST.set(outer);
    }
  }

  private static void free(List<Handle> owned) {
    for (Handle handle : owned) {
      if (!handle.kept) handle.run();
    }
    owned.clear();
  }
}
