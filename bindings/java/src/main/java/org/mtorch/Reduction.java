// SPDX-License-Identifier: Apache-2.0
package org.mtorch;

/** What a loss makes of its elements. */
public enum Reduction {
  /** Their mean. */
  MEAN,
  /** Their sum. */
  SUM,
  /** Nothing: one loss for each. */
  NONE
}
