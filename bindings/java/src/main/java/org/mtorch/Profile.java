// SPDX-License-Identifier: Apache-2.0
package org.mtorch;

import java.nio.file.Path;

/**
 * Where time goes: what each group of operators takes, in all threads, from its making to
 * {@link #stop()}.
 *
 * <pre>{@code
 * try (Profile profile = Profile.start()) {
 *   for (int i = 0; i < 10; i++) trainStep();
 *   profile.stop();
 *   System.out.print(profile.text());
 * }
 * }</pre>
 */
public final class Profile extends NativeObject {
  private Profile(long address) {
    super(Handle.PROFILE, address, true);
  }

  static Profile own(long address) {
    return new Profile(address);
  }

  /**
   * Starts measuring.
   *
   * @return a profile that measures from now on
   * @throws MTorchException while another one measures
   */
  public static Profile start() {
    return Native.profile_start();
  }

  /** Ends it; what runs later is not counted. */
  public void stop() {
    Native.profile_stop(this);
  }

  /**
   * What was measured up to now, as a table.
   *
   * @return a line for all runs that did the same, the dearest first: their time and its share, how
   *     often they ran, the median time of one, bytes and operations by that, what it was
   */
  public String text() {
    return Native.profile_text(this);
  }

  /**
   * Writes the single runs as Chrome's trace events, which ui.perfetto.dev shows as a timeline.
   *
   * @param path where to
   */
  public void save(Path path) {
    Native.profile_save(this, path.toString());
  }
}
