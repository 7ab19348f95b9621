// SPDX-License-Identifier: Apache-2.0
package sparkext.removal;

import java.util.concurrent.TimeUnit;
import org.apache.spark.sql.SparkSession;
import sparkext.common.Setting;

/** The timer of a removal, which starts after the first round, or else at the first conflict. */
final class RemovalTimeout {
  private static final Setting SETTING =
      new Setting("spark.sparkext.columnMapping.removal.timeout");

  private final String text;
  private final long nanos;
  private long start;
  private boolean isRunning;

  /**
   * Reads the timeout of a session.
   *
   * @throws sparkext.common.UsageTrackingException USAGE_TRACKING_INVALID_SETTING
   */
  RemovalTimeout(SparkSession session) {
    text = SETTING.of(session).orElseThrow();
    // At most 292 years.
    nanos = TimeUnit.MILLISECONDS.toNanos(SETTING.millis(session));
  }

  /** Starts the timer, unless it is already running. */
  void run() {
    if (!isRunning) {
      start = System.nanoTime();
      isRunning = true;
    }
  }

  boolean isOver() {
    return isRunning && System.nanoTime() - start >= nanos;
  }

  @Override
  public String toString() {
    return text;
  }
}
