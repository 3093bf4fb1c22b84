// SPDX-License-Identifier: Apache-2.0
package org.mtorch;

/**
 * A block in which this thread records no history: {@code try (NoGrad off = NoGrad.begin()) {...}}.
 */
public final class NoGrad implements AutoCloseable {
  private final ThreadState state = ThreadState.ofVirtual();
  private final boolean recordedHere = state != null && state.recording;
  private final boolean recorded;
  private boolean ended;

  private NoGrad() {
    if (state != null) state.recording = false;
    recorded = Native.set_recording(false);
  }

  /** {@return the block, to be closed by this thread} */
  public static NoGrad begin() {
    return new NoGrad();
  }

  /** Goes back to the mode before. */
  @Override
  public void close() {
    if (ended) return;
    ended = true;
    if (state != null) state.recording = recordedHere;
    Native.set_recording(recorded);
  }
}
