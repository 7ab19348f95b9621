// SPDX-License-Identifier: Apache-2.0
package sparkext.stale;

import java.util.Optional;
import java.util.OptionalLong;
import org.apache.spark.sql.delta.DeltaErrors;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.DeltaStreamingNonAdditiveSchemaIncompatibleException;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.SnapshotDescriptor;
import org.apache.spark.sql.delta.actions.Metadata;
import org.apache.spark.sql.delta.sources.DeltaSource;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Map$;
import sparkext.error.UsageTrackingException;
import sparkext.shim.DeltaShims;
import sparkext.stale.NameHistory.State;

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

  /** The read of changes that is being checked in this thread, version by version. */
  private static final ThreadLocal<Changes> CHECKED = new ThreadLocal<>();

  private ReusedNames() {}

  /** A read of changes, of which versions after the first brought metadata. */
  private record Changes(SnapshotDescriptor reader, long start, long end) {
    boolean isBeingChecked() {
      Changes other = CHECKED.get();
      return other != null && other.reader == reader && other.start == start && other.end == end;
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
    Changes changes = new Changes(reader, (long) arguments[1], (long) arguments[2]);
    boolean isWanted = (boolean) arguments[3];
    boolean isFirst = !(boolean) arguments[6];
    if (!isWanted) {
      return;
    }
    if (!isFirst) {
      CHECKED.set(changes);
      return;
    }
    if (changes.end > reader.version() && !isKept(reader, changes.end, Optional.empty())) {
      refuse(changes, changes.end);
    }
    boolean mayMislead = changes.isBeingChecked() || changes.end < reader.version();
    CHECKED.remove();
    if (mayMislead) {
      misleads(reader, changes.start).ifPresent(version -> refuse(changes, version));
    }
  }

  private static void refuse(Changes changes, long version) {
    boolean isInRange = version <= changes.end;
    throw UsageTrackingException.sneakyThrow(
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
   * anything, or what came after a change of metadata.
   *
   * @param source a {@code DeltaSource}
   * @param arguments those of {@code checkReadIncompatibleSchemaChangeOnStreamStartOnce}, or of
   *     {@code checkReadIncompatibleSchemaChanges}, which is called for each change
   */
  public static void refuseStream(Object source, Object[] arguments) {
    DeltaSource stream = (DeltaSource) source;
    boolean isMisled =
        arguments[0] instanceof Metadata changed
            ? isMisledBy(changed, (long) arguments[1], stream)
            : isMisledFrom((long) arguments[0], stream);
    if (isMisled) {
      StructType schema = stream.snapshotAtSourceInit().metadata().schema();
      throw UsageTrackingException.sneakyThrow(
          new DeltaStreamingNonAdditiveSchemaIncompatibleException(
              schema,
              schema,
              "-",
              /* enableNonAdditiveSchemaEvolution= */ true,
              Map$.MODULE$.empty()));
    }
  }

  private static boolean isMisledFrom(long start, DeltaSource stream) {
    return !stream.hasCheckedReadIncompatibleSchemaChangesOnStreamStart()
        && isWanted(stream)
        && misleads(stream.snapshotAtSourceInit(), start).isPresent();
  }

  private static boolean isMisledBy(Metadata changed, long version, DeltaSource stream) {
    SnapshotDescriptor reader = stream.snapshotAtSourceInit();
    return version > reader.version()
        && isWanted(stream)
        && !isKept(reader, version, Optional.of(changed));
  }

  private static boolean isWanted(DeltaSource stream) {
    return !stream.trackingMetadataChange()
        && !Boolean.parseBoolean(stream.spark().conf().get(UNSAFE_STREAMS, "false"));
  }

  /** Whether a reader's columns are those of the same names in a later version. */
  private static boolean isKept(SnapshotDescriptor reader, long last, Optional<Metadata> end) {
    State start = new State(reader.version(), "", reader.protocol(), reader.metadata());
    return NameHistories.since(reader.deltaLog(), reader.version(), last, end, () -> start)
        .map(history -> history.keeps(ColumnNames.of(reader.metadata()).paths()))
        .orElse(true);
  }

  private static OptionalLong misleads(SnapshotDescriptor reader, long start) {
    if (start >= reader.version() || !NameHistories.mayHaveLeft(reader.protocol())) {
      return OptionalLong.empty();
    }
    return NameHistories.since(
            reader.deltaLog(),
            start,
            reader.version(),
            Optional.of(reader.metadata()),
            () -> stateAt(reader.deltaLog(), start))
        .map(history -> history.misleads(ColumnNames.of(reader.metadata())))
        .orElse(OptionalLong.empty());
  }

  private static State stateAt(DeltaLog log, long version) {
    try {
      Snapshot snapshot = DeltaShims.getSnapshotAt(log, version, log.getInitialCatalogTable());
      return new State(version, "", snapshot.protocol(), snapshot.metadata());
    } catch (Exception unreadable) {
      throw UsageTrackingException.sneakyThrow(
          DeltaErrors.failedToGetSnapshotDuringColumnMappingStreamingReadCheck(unreadable));
    }
  }
}
