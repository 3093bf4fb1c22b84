// SPDX-License-Identifier: Apache-2.0
package org.mtorch;

import java.util.Iterator;
import java.util.NoSuchElementException;

/**
 * Batches of the rows of tensors, epoch after epoch; several threads may take them from one loader:
 *
 * <pre>{@code
 * Loader loader = Loader.of(64, new LoaderOptions().shuffle(true), images, labels);
 * for (long i = 0; i < epochs * loader.batches(); i++) {
 *   try (Scope scope = Scope.open()) {
 *     Tensor[] batch = loader.next();
 *     train(batch[0], batch[1]);
 *   }
 * }
 * }</pre>
 */
public final class Loader extends NativeObject implements Iterable<Tensor[]> {
  private int width; // of a batch

  private Loader(long address) { super(Handle.LOADER, address, true); }

  static Loader own(long address) { return new Loader(address); }

  /**
   * A loader of batches.
   *
   * @param batchSize rows of a batch
   * @param tensors of one length along axis 0, as they are now
   * @return the loader
   */
  public static Loader of(long batchSize, Tensor... tensors) {
    return of(batchSize, null, tensors);
  }

  /**
   * A loader of batches. The order of an epoch is a function of seed, epoch and length alone.
   *
   * @param batchSize rows of a batch
   * @param options or null for all defaults
   * @param tensors of one length along axis 0, as they are now
   * @return the loader
   */
  public static Loader of(long batchSize, LoaderOptions options, Tensor... tensors) {
    LoaderOptions o = options == null ? new LoaderOptions() : options;
    Loader loader =
        Native.new_loader(tensors, batchSize, o.shuffle, o.seed, o.dropLast, o.prefetch, o.device);
    loader.width = tensors.length;
    return loader;
  }

  /**
   * The next batch: after the last one of an epoch the first of the next.
   *
   * @return one tensor for each of the loader's
   */
  public Tensor[] next() { return Native.loader_batch(this, width); }

  /** {@return how many batches an epoch has} */
  public long batches() { return Native.loader_batches(this); }

  /** {@return how many epochs it has given whole} */
  public long epoch() { return Native.loader_epoch(this); }

  /** {@return how many batches of the current epoch it has given} */
  public long position() { return Native.loader_position(this); }

  /**
   * Goes on from a batch of an epoch, as of a saved run.
   *
   * @param epoch from 0
   * @param position of the batch in it; 0 where the order has no seed
   */
  public void seek(long epoch, long position) { Native.loader_seek(this, epoch, position); }

  /** {@return what remains of the epoch, batch by batch} */
  @Override
  public Iterator<Tensor[]> iterator() {
    long count = batches() - position();
    return new Iterator<>() {
      private long left = count;

      @Override
      public boolean hasNext() {
        return left > 0;
      }

      @Override
      public Tensor[] next() {
        if (left-- <= 0)
          throw new NoSuchElementException();
        return Loader.this.next();
      }
    };
  }
}
