// SPDX-License-Identifier: Apache-2.0
package org.mtorch;

/** Learning rates as plain functions of the step, which counts from 0. They multiply. */
public final class Schedules {
  private Schedules() {}

  /**
   * Falls by a factor at regular times.
   *
   * @param rate at first
   * @param step the step
   * @param every how many steps lie between
   * @param factor the factor
   * @return the rate
   */
  public static double step(double rate, long step, long every, double factor) {
    return Native.schedule_step(rate, step, every, factor);
  }

  /**
   * From the rate at step 0 down along a half cosine.
   *
   * @param rate at first
   * @param step the step
   * @param steps when the lowest is reached
   * @param lowest the lowest
   * @return the rate
   */
  public static double cosine(double rate, long step, long steps, double lowest) {
    return Native.schedule_cosine(rate, step, steps, lowest);
  }

  /**
   * Rises evenly, then stays.
   *
   * @param rate at the end
   * @param step the step
   * @param warmup how many steps it rises
   * @return the rate
   */
  public static double warmup(double rate, long step, long warmup) {
    return Native.schedule_warmup(rate, step, warmup);
  }

  /**
   * Up along a half cosine and down along another, by Smith and Topin.
   *
   * @param rate the highest
   * @param step the step
   * @param steps how many there are
   * @return the rate
   */
  public static double oneCycle(double rate, long step, long steps) {
    return Native.schedule_one_cycle(rate, step, steps);
  }
}
