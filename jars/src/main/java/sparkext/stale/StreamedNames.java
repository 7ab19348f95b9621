// SPDX-License-Identifier: Apache-2.0
package sparkext.stale;

import java.util.Arrays;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.delta.DeltaStreamingNonAdditiveSchemaIncompatibleException;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.SnapshotDescriptor;
import org.apache.spark.sql.delta.sources.DeltaSource;
import org.apache.spark.sql.delta.sources.DeltaSourceOffset;
import org.apache.spark.sql.delta.sources.DeltaSourceOffset$;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.collection.immutable.Map$;
import sparkext.common.StrictFileRead;
import sparkext.common.UsageTrackingException;

/**
 * Lets a stream continue from a version before a removal of column mapping, if all other changes of
 * columns only added columns.
 *
 * <p>Delta reads every batch with the physical names of the version at which the query started. For
 * such a stream, each batch is read with the names that its files have, and no batch contains files
 * from before and after a removal.
 *
 * <p>A query runs on one thread, so the state of its sources is kept by thread.
 */
public final class StreamedNames {
  private static final String UNSAFE_STREAMS =
      "spark.databricks.delta.streaming.unsafeReadOnIncompatibleColumnMappingSchemaChanges.enabled";

  private static final ThreadLocal<Map<DeltaSource, StreamedNames>> STREAMS =
      ThreadLocal.withInitial(IdentityHashMap::new);

  private final long start;

  /** Contains {@link NameHistory#removals}; empty if Delta reads all versions by itself. */
  private final Optional<List<Long>> removals;

  /** The table with the names of the files of the batch that is being created, or null. */
  private Snapshot ofBatch;

  private StreamedNames(DeltaSource stream, long start) {
    this.start = start;
    this.removals = removals(stream, start);
  }

  /**
   * Returns the state of a stream that reads from a version, or from an earlier version. A stream
   * reads later versions only, for which the state is the same.
   */
  private static StreamedNames of(DeltaSource stream, long start) {
    Map<DeltaSource, StreamedNames> streams = STREAMS.get();
    StreamedNames known = streams.get(stream);
    if (known == null || start < known.start) {
      known = new StreamedNames(stream, start);
      streams.put(stream, known);
    }
    return known;
  }

  private static Optional<List<Long>> removals(DeltaSource stream, long start) {
    SnapshotDescriptor reader = stream.snapshotAtSourceInit();
    if (!isChecked(stream)) {
      return Optional.empty();
    }
    return NameHistories.until(reader, start)
        .filter(history -> history.endsWith(reader.metadata()))
        .flatMap(NameHistory::removals);
  }

  /**
   * Returns true if each version from a version on is read with its own names, so that Delta need
   * not compare them.
   */
  static boolean areReadByVersion(DeltaSource stream, long start) {
    return of(stream, start).removals.isPresent();
  }

  /**
   * Returns the removal of column mapping as the end of a batch that would contain files from
   * before and after it.
   *
   * @param source a {@code DeltaSource}
   * @param from where the batch starts, an {@code Offset}, or null for the start of a new stream
   * @param to where Delta ends the batch, a {@code DeltaSourceOffset}, or null for no batch
   * @return null to keep the end
   */
  public static Object endOfBatch(Object source, Object from, Object to) {
    DeltaSource stream = (DeltaSource) source;
    if (!(to instanceof DeltaSourceOffset end)) {
      return null;
    }
    OptionalLong removal = removalAfter(stream, version(stream, (Offset) from));
    if (removal.isEmpty() || !isBeyond(end, removal.getAsLong())) {
      return null;
    }
    return DeltaSourceOffset$.MODULE$.apply(
        end.reservoirId(),
        removal.getAsLong(),
        DeltaSourceOffset$.MODULE$.BASE_INDEX(),
        /* isInitialSnapshot= */ false);
  }

  /** Returns the first version that a batch reads. */
  private static long version(DeltaSource stream, Offset from) {
    if (from != null) {
      return stream.toDeltaSourceOffset(from).reservoirVersion();
    }
    Option<Object> first = stream.getStartingVersion();
    return first.isDefined() ? (long) first.get() : stream.snapshotAtSourceInit().version();
  }

  /**
   * Selects the names with which the next batch is read.
   *
   * <p>Throws DELTA_STREAMING_INCOMPATIBLE_SCHEMA_CHANGE_USE_SCHEMA_LOG if the batch contains files
   * from before and after a removal. A session without spark-ext may have planned such a batch.
   *
   * @param source a {@code DeltaSource}
   * @param start the first version that the batch reads
   * @param to the end of the batch, a {@code DeltaSourceOffset}
   */
  public static void selectNames(Object source, long start, Object to) {
    DeltaSource stream = (DeltaSource) source;
    OptionalLong removal = removalAfter(stream, start);
    if (removal.isPresent() && isBeyond((DeltaSourceOffset) to, removal.getAsLong())) {
      throw refusal(stream);
    }
    StreamedNames names = of(stream, start);
    if (removal.isEmpty()) {
      names.ofBatch = null;
      return;
    }
    long last = removal.getAsLong() - 1;
    if (names.ofBatch == null || names.ofBatch.version() != last) {
      names.ofBatch = NameHistories.snapshotAt(stream.snapshotAtSourceInit().deltaLog(), last);
    }
  }

  /**
   * Returns the table with the names of the files of the batch that is being created.
   *
   * @param source a {@code DeltaSource}
   * @return null for the version at which the query started
   */
  public static Object namesOfBatch(Object source) {
    StreamedNames names = STREAMS.get().get((DeltaSource) source);
    return names == null ? null : names.ofBatch;
  }

  /**
   * Returns the rows of a batch with the columns of the stream. Columns that were added after the
   * batch are null. VACUUM may have deleted the files of an earlier batch, so the batch fails if a
   * file is missing.
   *
   * @param source a {@code DeltaSource}
   * @param batch a {@code Dataset}
   * @return null to keep the rows
   */
  public static Object withColumnsOfStream(Object source, Object batch) {
    if (namesOfBatch(source) == null) {
      return null;
    }
    Dataset<?> rows = StrictFileRead.of(batch);
    StructField[] columns = ((DeltaSource) source).schema().fields();
    List<String> existing = Arrays.asList(rows.columns());
    if (existing.equals(Arrays.stream(columns).map(StructField::name).toList())) {
      return rows;
    }
    return rows.select(
        Arrays.stream(columns)
            .map(column -> column(column, existing.contains(column.name())))
            .toArray(Column[]::new));
  }

  private static Column column(StructField column, boolean exists) {
    return exists
        ? functions.col("`" + column.name().replace("`", "``") + "`")
        : functions.lit(null).cast(column.dataType()).as(column.name());
  }

  /** Throws DELTA_STREAMING_INCOMPATIBLE_SCHEMA_CHANGE_USE_SCHEMA_LOG. */
  static RuntimeException refusal(DeltaSource stream) {
    StructType schema = stream.snapshotAtSourceInit().metadata().schema();
    return UsageTrackingException.sneakyThrow(
        new DeltaStreamingNonAdditiveSchemaIncompatibleException(
            schema,
            schema,
            "-",
            /* enableNonAdditiveSchemaEvolution= */ true,
            Map$.MODULE$.empty()));
  }

  /** Returns true if Delta checks the schemas of a stream that has no schema log. */
  static boolean isChecked(DeltaSource stream) {
    return !stream.trackingMetadataChange()
        && !Boolean.parseBoolean(stream.spark().conf().get(UNSAFE_STREAMS, "false"));
  }

  /** Returns the first version after a version that removed column mapping and changed names. */
  private static OptionalLong removalAfter(DeltaSource stream, long start) {
    return of(stream, start).removals.stream()
        .flatMap(List::stream)
        .mapToLong(Long::longValue)
        .filter(version -> version > start)
        .findFirst();
  }

  /** Returns true if a batch with this end contains files of a version. */
  private static boolean isBeyond(DeltaSourceOffset end, long version) {
    return end.reservoirVersion() > version
        || (end.reservoirVersion() == version
            && end.index() > DeltaSourceOffset$.MODULE$.BASE_INDEX());
  }
}
