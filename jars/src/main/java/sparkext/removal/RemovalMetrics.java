// SPDX-License-Identifier: Apache-2.0
package sparkext.removal;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.delta.DeltaOperations;
import org.apache.spark.sql.delta.OptimisticTransaction;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.execution.metric.SQLMetrics;
import scala.Option;
import scala.Some;
import scala.collection.immutable.Map$;
import scala.collection.immutable.Set;
import scala.collection.immutable.Set$;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Counts the files and bytes that a removal kept, copied, rewrote and wrote, and the copies that it
 * discarded because other writers changed the table.
 */
final class RemovalMetrics {
  private static final String REMOVED_BYTES = "numRemovedBytes";
  private static final String OUTPUT_BYTES = "numOutputBytes";
  private static final String ROUNDS = "numRounds";

  private static final List<String> METRICS =
      List.of(
          "numKeptFiles",
          "numKeptBytes",
          "numCopiedFiles",
          "numCopiedBytes",
          "numRewrittenFiles",
          "numRewrittenBytes",
          REMOVED_BYTES,
          OUTPUT_BYTES,
          ROUNDS,
          "numDiscardedFiles",
          "numDiscardedBytes");

  private final Map<String, Long> metrics = new LinkedHashMap<>();

  RemovalMetrics(int rounds) {
    METRICS.forEach(name -> metrics.put(name, 0L));
    add(ROUNDS, rounds);
  }

  void kept(long size) {
    addFile("Kept", size);
  }

  void copied(long size, long newSize) {
    addFile("Copied", size);
    add(REMOVED_BYTES, size);
    written(newSize);
  }

  void rewritten(long size) {
    addFile("Rewritten", size);
    add(REMOVED_BYTES, size);
  }

  void written(long newSize) {
    add(OUTPUT_BYTES, newSize);
  }

  void discarded(long size) {
    addFile("Discarded", size);
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

  private void addFile(String done, long size) {
    add("num" + done + "Files", 1);
    add("num" + done + "Bytes", size);
  }

  private void add(String name, long value) {
    metrics.merge(name, value, Long::sum);
  }

  /**
   * Delta's operation with metrics of copied files. Its commits may contain deletion vectors.
   *
   * <p>Source: Delta 4.4.0, DeltaOperations.scala, {@code RemoveColumnMapping}.
   */
  static final class RemovalOperation extends DeltaOperations.RemoveColumnMapping {
    private static final long serialVersionUID = 1L;

    RemovalOperation() {
      super(Option.empty());
    }

    @Override
    public Set<String> operationMetrics() {
      return Set$.MODULE$.from(CollectionConverters.asScala(METRICS));
    }

    /** Allows deletion vectors of copies even if the table allows no new deletion vectors. */
    @Override
    public Option<Object> isInPlaceFileMetadataUpdate() {
      return new Some<>(true);
    }

    /** Allows statistics of copies that another writer marked as tight. */
    @Override
    public boolean checkAddFileWithDeletionVectorStatsAreNotTightBounds() {
      return false;
    }
  }
}
