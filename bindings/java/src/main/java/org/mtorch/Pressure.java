// SPDX-License-Identifier: Apache-2.0
package org.mtorch;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Asks the garbage collector to run when much waits for it that it cannot see: objects are small on
 * its heap, whatever they hold elsewhere.
 */
final class Pressure {
  private static final int FEWEST = 1 << 16;
  private static final long LEAST_BYTES = 1L << 29;
  private static final AtomicInteger WAITING = new AtomicInteger();
  private static final ReentrantLock LOOKING = new ReentrantLock();
  private static int mostWaiting = FEWEST;
  private static long mostBytes = LEAST_BYTES;

  private Pressure() {}

  /** An object is left to the garbage collector. */
  static void more() {
    if ((WAITING.incrementAndGet() & 0xf) == 0 && LOOKING.tryLock()) {
      try {
        look();
      } finally {
        LOOKING.unlock();
      }
    }
  }

  /** One of them is closed. */
  static void less() {
    WAITING.decrementAndGet();
  }

  private static void look() {
    if (WAITING.get() <= mostWaiting && Devices.memoryUsed(null) <= mostBytes) return;
    System.gc();
    // The cleaner is a thread of its own: it goes first, until it has had nothing to do for a
    // while.
    int still = 0;
    for (int nap = 0; nap < 200 && still < 5; nap++) {
      int before = WAITING.get();
      try {
        Thread.sleep(5);
      } catch (InterruptedException error) {
        Thread.currentThread().interrupt();
        break;
      }
      still = WAITING.get() < before ? 0 : still + 1;
    }
    // What is alive may be as much again before the next time.
    mostWaiting = Math.max(FEWEST, 2 * WAITING.get());
    mostBytes = Math.max(LEAST_BYTES, 2 * Devices.memoryUsed(null));
  }
}
