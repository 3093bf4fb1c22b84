// SPDX-License-Identifier: Apache-2.0
package org.mtorch;

/** How a {@link Loader} makes batches. Each method returns the options themselves. */
public final class LoaderOptions {
  boolean shuffle = false;
  long seed = 0;
  boolean dropLast = false;
  long prefetch = 0;
  String device = null;

  /** Options with every default. */
  public LoaderOptions() {}

  /**
   * Sets whether each epoch has a random order of its own.
   *
   * @param value whether; false unless set
   * @return this
   */
  public LoaderOptions shuffle(boolean value) {
    shuffle = value;
    return this;
  }

  /**
   * Sets the seed of the orders; -1 draws them from the thread's current generator.
   *
   * @param value the number; 0 unless set
   * @return this
   */
  public LoaderOptions seed(long value) {
    seed = value;
    return this;
  }

  /**
   * Sets whether a smaller last batch is left out.
   *
   * @param value whether; false unless set
   * @return this
   */
  public LoaderOptions dropLast(boolean value) {
    dropLast = value;
    return this;
  }

  /**
   * Sets how many batches a thread of the loader makes ahead; 0: there is none.
   *
   * @param value the number; 0 unless set
   * @return this
   */
  public LoaderOptions prefetch(long value) {
    prefetch = value;
    return this;
  }

  /**
   * Sets where batches go.
   *
   * @param value the device; null, where the tensors are, unless set
   * @return this
   */
  public LoaderOptions device(String value) {
    device = value;
    return this;
  }
}
