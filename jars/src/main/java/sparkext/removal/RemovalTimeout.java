// SPDX-License-Identifier: Apache-2.0
package sparkext.removal;

import java.util.concurrent.TimeUnit;
import org.apache.spark.network.util.JavaUtils;
import org.apache.spark.sql.SparkSession;
import sparkext.error.UsageTrackingErrors;

/**
 * For how long leaving goes on while other writers overtake it: {@code
 * spark.sparkext.columnMapping.removal.timeout}, from the time on when every file was copied once.
 */
final class RemovalTimeout {
  private static final String KEY = "spark.sparkext.columnMapping.removal.timeout";
  private static final String DEFAULT = "10m";

  private final String text;
  private final long nanos;
  private long start;
  private boolean isRunning;

  /**
   * What a session says.
   *
   * @throws sparkext.error.UsageTrackingException USAGE_TRACKING_INVALID_SETTING
   */
  RemovalTimeout(SparkSession session) {
    text = session.conf().get(KEY, DEFAULT);
    nanos = TimeUnit.MILLISECONDS.toNanos(millis(text)); // at most 292 years
  }

  private static long millis(String text) {
    try {
      long millis = JavaUtils.timeStringAsMs(text);
      if (millis >= 0) {
        return millis;
      }
    } catch (NumberFormatException noTime) {
      throw noTime(text);
    }
    throw noTime(text);
  }

  private static RuntimeException noTime(String text) {
    return UsageTrackingErrors.invalidSetting(KEY, text, "a time such as `10m`").sneakyThrow();
  }

  /** Begins, unless it runs. */
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
