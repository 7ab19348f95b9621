// SPDX-License-Identifier: Apache-2.0
package sparkext.removal;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.delta.OptimisticTransaction;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.execution.metric.SQLMetrics;
import scala.collection.immutable.Map$;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Counts the files and bytes that a removal kept, copied, rewrote and wrote, and the copies that it
 * discarded because other writers changed the table.
 */
record RemovalMetrics(Map<String, Long> metrics) {
  private static final String KEPT = "numKeptFiles";
  private static final String KEPT_BYTES = "numKeptBytes";
  private static final String COPIED = "numCopiedFiles";
  private static final String COPIED_BYTES = "numCopiedBytes";
  private static final String REWRITTEN = "numRewrittenFiles";
  private static final String REWRITTEN_BYTES = "numRewrittenBytes";
  private static final String REMOVED_BYTES = "numRemovedBytes";
  private static final String OUTPUT_BYTES = "numOutputBytes";
  private static final String ROUNDS = "numRounds";
  private static final String DISCARDED = "numDiscardedFiles";
  private static final String DISCARDED_BYTES = "numDiscardedBytes";

  static final List<String> METRICS =
      List.of(
          KEPT,
          KEPT_BYTES,
          COPIED,
          COPIED_BYTES,
          REWRITTEN,
          REWRITTEN_BYTES,
          REMOVED_BYTES,
          OUTPUT_BYTES,
          ROUNDS,
          DISCARDED,
          DISCARDED_BYTES);

  static RemovalMetrics none() {
    Map<String, Long> metrics = new LinkedHashMap<>();
    METRICS.forEach(name -> metrics.put(name, 0L));
    return new RemovalMetrics(metrics);
  }

  void kept(long size) {
    add(KEPT, 1);
    add(KEPT_BYTES, size);
  }

  void copied(long size, long newSize) {
    add(COPIED, 1);
    add(COPIED_BYTES, size);
    add(REMOVED_BYTES, size);
    add(OUTPUT_BYTES, newSize);
  }

  void rewritten(long size) {
    add(REWRITTEN, 1);
    add(REWRITTEN_BYTES, size);
    add(REMOVED_BYTES, size);
  }

  void written(long newSize) {
    add(OUTPUT_BYTES, newSize);
  }

  void rounds(int rounds) {
    add(ROUNDS, rounds);
  }

  void discarded(long size) {
    add(DISCARDED, 1);
    add(DISCARDED_BYTES, size);
  }

  /** Registers the metrics for DESCRIBE HISTORY, instead of those of Delta's writer. */
  void register(SparkSession session, OptimisticTransaction transaction) {
    Map<String, SQLMetric> registered = new LinkedHashMap<>();
    metrics.forEach(
        (name, value) -> {
          SQLMetric metric = SQLMetrics.createMetric(session.sparkContext(), name);
          metric.set(value);
          registered.put(name, metric);
        });
    transaction.registerSQLMetrics(
        session, Map$.MODULE$.from(CollectionConverters.asScala(registered)));
  }

  private void add(String name, long value) {
    metrics.merge(name, value, Long::sum);
  }
}
