// SPDX-License-Identifier: Apache-2.0
package sparkext.sql;

import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.delta.DeltaLog;

/**
 * Limits the logs that surveys keep in Delta's cache.
 *
 * <p>Delta caches 10,000 logs for an hour. The log of a small table takes 0.1 MB, so without a
 * limit a survey of a large lakehouse fills the driver's memory. A removed log is read again when
 * needed, and code that uses the log keeps a reference.
 *
 * <p>Source: Delta, DeltaLog.scala, {@code createCacheBuilder}, {@code invalidateCache}.
 */
final class SurveyedLogs {
  private static final int MAX = 128;

  /** The tables whose logs surveys read last, the newest last. */
  private static final Set<Path> NEWEST = new LinkedHashSet<>();

  private SurveyedLogs() {}

  /** Adds the log of a table that a survey has read, and removes the oldest from Delta's cache. */
  static void add(SparkSession session, Path table) {
    for (Path oldest : oldestAfter(table)) {
      DeltaLog.invalidateCache(session, oldest);
    }
  }

  private static List<Path> oldestAfter(Path table) {
    synchronized (NEWEST) {
      NEWEST.remove(table);
      NEWEST.add(table);
      List<Path> oldest = NEWEST.stream().limit(Math.max(0, NEWEST.size() - MAX)).toList();
      oldest.forEach(NEWEST::remove);
      return oldest;
    }
  }
}
