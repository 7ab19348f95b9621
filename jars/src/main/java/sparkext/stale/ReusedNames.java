// SPDX-License-Identifier: Apache-2.0
package sparkext.stale;

import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.delta.ColumnMappingTableFeature$;
import org.apache.spark.sql.delta.DeltaErrors;
import org.apache.spark.sql.delta.DeltaStreamingNonAdditiveSchemaIncompatibleException;
import org.apache.spark.sql.delta.SnapshotDescriptor;
import org.apache.spark.sql.delta.actions.Metadata;
import org.apache.spark.sql.delta.actions.Protocol;
import org.apache.spark.sql.delta.sources.DeltaSource;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.collection.immutable.Map$;
import sparkext.error.UsageTrackingException;

/**
 * Refuses to read changes, or to stream, from before column mapping was switched off with a schema
 * that has columns from after it: one of them may have the name of a column that was dropped.
 *
 * <p>Delta tells columns apart by their names in files, which it never gives twice while column
 * mapping is on. It compares the two ends, and each metadata in between by itself.
 */
public final class ReusedNames {
  private static final String UNSAFE_STREAMS =
      "spark.databricks.delta.streaming.unsafeReadOnIncompatibleColumnMappingSchemaChanges.enabled";

  /** What stays in the protocol of a table whose column mapping was dropped with its history. */
  private static final String CHECKPOINT_PROTECTION = "checkpointProtection";

  /** The read of changes that is being checked in this thread, version by version. */
  private static final ThreadLocal<Changes> CHECKED = new ThreadLocal<>();

  private ReusedNames() {}

  /** A read of changes, and the metadata that its versions after the first brought. */
  private record Changes(SnapshotDescriptor reader, long start, long end, List<Metadata> seen) {
    static Changes of(SnapshotDescriptor reader, long start, long end) {
      Changes known = CHECKED.get();
      return known != null && known.reader == reader && known.start == start && known.end == end
          ? known
          : new Changes(reader, start, end, new ArrayList<>());
    }

    /** Whether a look at the log is worth it: the versions alone say that all is well, else. */
    boolean mayMislead(Metadata first) {
      if (!mayHaveLeft(reader.protocol()) || start >= reader.version()) {
        return false;
      }
      if (end < reader.version()) {
        return true;
      }
      ColumnNames names = ColumnNames.of(reader.metadata());
      Metadata before = first;
      for (Metadata after : seen) {
        if (NameHistory.mayMislead(before, after, names)) {
          return true;
        }
        before = after;
      }
      return false;
    }
  }

  /**
   * Throws DELTA_CHANGE_DATA_FEED_INCOMPATIBLE_SCHEMA_CHANGE, or _DATA_SCHEMA where the versions
   * that are read all lie before, after Delta has found nothing.
   *
   * @param arguments those of {@code CDCReaderBase.checkBatchCdfReadSchemaIncompatibility}, which
   *     is called for each metadata after the first version, and then for that of the first
   */
  public static void refuseChanges(Object[] arguments) {
    SnapshotDescriptor reader = (SnapshotDescriptor) arguments[0];
    Changes changes = Changes.of(reader, (long) arguments[1], (long) arguments[2]);
    boolean isWanted = (boolean) arguments[3];
    Metadata metadata = (Metadata) arguments[4];
    boolean isFirst = !(boolean) arguments[6];
    if (!isWanted) {
      return;
    }
    if (!isFirst) {
      changes.seen.add(metadata);
      CHECKED.set(changes);
      return;
    }
    CHECKED.remove();
    if (changes.mayMislead(metadata)) {
      misleads(SparkSession.active(), reader, Option.empty(), changes.start)
          .ifPresent(version -> refuse(changes, version));
    }
  }

  private static void refuse(Changes changes, long version) {
    boolean isInRange = version <= changes.end;
    throw UsageTrackingException.sneak(
        DeltaErrors.blockBatchCdfReadWithIncompatibleSchemaChange(
            changes.start,
            changes.end,
            changes.reader.metadata().schema(),
            changes.reader.version(),
            isInRange ? version : changes.start,
            /* isSchemaChange= */ isInRange));
  }

  /**
   * Throws DELTA_STREAMING_INCOMPATIBLE_SCHEMA_CHANGE_USE_SCHEMA_LOG, before the stream has read
   * anything.
   *
   * @param source a {@code DeltaSource}
   * @param arguments those of {@code checkReadIncompatibleSchemaChangeOnStreamStartOnce}
   */
  public static void refuseStream(Object source, Object[] arguments) {
    DeltaSource stream = (DeltaSource) source;
    SnapshotDescriptor reader = stream.snapshotAtSourceInit();
    long start = (long) arguments[0];
    if (stream.hasCheckedReadIncompatibleSchemaChangesOnStreamStart()
        || stream.trackingMetadataChange()
        || Boolean.parseBoolean(stream.spark().conf().get(UNSAFE_STREAMS, "false"))
        || start >= reader.version()
        || !mayHaveLeft(reader.protocol())) {
      return;
    }
    misleads(stream.spark(), reader, stream.catalogTableOpt(), start)
        .ifPresent(
            version -> {
              StructType schema = reader.metadata().schema();
              throw UsageTrackingException.sneak(
                  new DeltaStreamingNonAdditiveSchemaIncompatibleException(
                      schema,
                      schema,
                      "-",
                      /* enableNonAdditiveSchemaEvolution= */ true,
                      Map$.MODULE$.empty()));
            });
  }

  private static OptionalLong misleads(
      SparkSession session,
      SnapshotDescriptor reader,
      Option<org.apache.spark.sql.catalyst.catalog.CatalogTable> catalogTable,
      long start) {
    return NameHistory.of(session, reader.deltaLog(), catalogTable, start, reader.version())
        .misleads(ColumnNames.of(reader.metadata()));
  }

  /** Whether a table may ever have had column mapping, in the versions that its log has. */
  private static boolean mayHaveLeft(Protocol protocol) {
    return protocol.isFeatureSupported(ColumnMappingTableFeature$.MODULE$)
        || protocol.writerFeatureNames().contains(CHECKPOINT_PROTECTION);
  }
}
