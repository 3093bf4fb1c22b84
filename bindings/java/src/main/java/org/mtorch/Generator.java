// SPDX-License-Identifier: Apache-2.0
package org.mtorch;

/** A source of random numbers: a key and a counter. Each thread begins with one of its own. */
public final class Generator extends NativeObject {
  private final long address;

  /**
   * A generator with counter 0.
   *
   * @param seed its key
   */
  public Generator(long seed) {
    this(Native.new_generator(seed), true);
  }

  private Generator(long address, boolean managed) {
    super(Handle.GENERATOR, address, managed);
    this.address = address;
  }

  static Generator own(long address) {
    return address == 0 ? null : new Generator(address, true);
  }

  long address() {
    return address;
  }

  /** Makes it the generator of this thread, that all draws come from. */
  public void use() {
    use(this);
  }

  /**
   * Restarts the generator that this thread uses. Those of threads that first draw later begin with the
   * same seed; threads that are to draw different numbers are each given one.
   *
   * @param seed its key
   */
  public static void seed(long seed) {
    ThreadState.notice();
    Native.seed(seed);
  }

  /** Goes back to the thread's own generator. */
  public static void useOwn() {
    use(null);
  }

  private static void use(Generator generator) {
    ThreadState state = ThreadState.ofVirtual();
    if (state != null) state.use(generator);
    Native.generator_use(generator);
  }

  /** {@return the key} */
  public long key() {
    return Native.generator_number(this, false);
  }

  /** {@return how far it has counted} */
  public long counter() {
    return Native.generator_number(this, true);
  }

  /**
   * Sets key and counter.
   *
   * @param key the key
   * @param counter where to go on
   */
  public void setState(long key, long counter) {
    Native.generator_set_state(this, key, counter);
  }
}
