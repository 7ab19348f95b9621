// SPDX-License-Identifier: Apache-2.0
package sparkext.stale;

import java.util.Optional;
import java.util.OptionalLong;
import org.apache.spark.sql.delta.DeltaErrors;
import org.apache.spark.sql.delta.DeltaIllegalStateException;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.SnapshotDescriptor;
import org.apache.spark.sql.delta.WinningCommitSummary;
import org.apache.spark.sql.delta.actions.Metadata;
import org.apache.spark.sql.delta.sources.DeltaSource;
import scala.Option;
import sparkext.common.UsageTrackingErrors;
import sparkext.common.UsageTrackingException;
import sparkext.stale.NameHistory.State;

/**
 * Refuses to read changes, to stream, or to rebase a commit, if a physical name means one column in
 * some of the files and another column in others.
 *
 * <p>Delta distinguishes columns by physical name, and uses no physical name twice while column
 * mapping is on. Once column mapping was removed, a new column may have the name of a dropped one.
 */
public final class ReusedNames {
  /** The read that this thread checks, if a version after the first changed the metadata. */
  private static final ThreadLocal<Changes> CHECKED = new ThreadLocal<>();

  private ReusedNames() {}

  /** A read of the changes from version {@code start} to version {@code end}. */
  private record Changes(SnapshotDescriptor reader, long start, long end) {
    boolean isBeingChecked() {
      Changes other = CHECKED.get();
      return other != null && other.reader == reader && other.start == start && other.end == end;
    }
  }

  /**
   * Throws DELTA_CHANGE_DATA_FEED_INCOMPATIBLE_SCHEMA_CHANGE if Delta's own check missed that a
   * name was reused, or _DATA_SCHEMA if the first version with a reused name follows {@code end}.
   *
   * <p>Delta calls its check for each metadata after the first version, and then for the metadata
   * of the first version.
   *
   * @param schema a {@code SnapshotDescriptor}, whose schema the reader has
   * @param start the first version that is read
   * @param end the last version that is read
   * @param isSchemaChange false for the metadata of the first version
   */
  public static void refuseChanges(Object schema, long start, long end, boolean isSchemaChange) {
    SnapshotDescriptor reader = (SnapshotDescriptor) schema;
    Changes changes = new Changes(reader, start, end);
    if (isSchemaChange) {
      CHECKED.set(changes);
      return;
    }
    // Delta allows an end after the newest version.
    long last = end > reader.version() ? Math.min(end, newest(reader, end).version()) : end;
    if (last > reader.version() && !areColumnsKept(reader, later(reader, last, Optional.empty()))) {
      refuse(changes, last);
    }
    boolean mayMislead = changes.isBeingChecked() || end < reader.version();
    CHECKED.remove();
    if (mayMislead) {
      firstMisleading(reader, start).ifPresent(version -> refuse(changes, version));
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
   * Throws DELTA_STREAMING_INCOMPATIBLE_SCHEMA_CHANGE_USE_SCHEMA_LOG before a stream reads a file,
   * if a version since the start gave a name to another column.
   *
   * @param source a {@code DeltaSource}
   * @param start the first version that the stream reads
   */
  public static void refuseStreamStart(Object source, long start) {
    DeltaSource stream = (DeltaSource) source;
    if (!stream.hasCheckedReadIncompatibleSchemaChangesOnStreamStart()
        && StreamedNames.isChecked(stream)
        && !StreamedNames.areReadByVersion(stream, start)
        && firstMisleading(stream.snapshotAtSourceInit(), start).isPresent()) {
      throw StreamedNames.refusal(stream);
    }
  }

  /**
   * Throws the same error before a running stream reads files that follow a change of metadata, or
   * USAGE_TRACKING_STREAM_RESTART_REQUIRED if a new start can continue.
   *
   * @param source a {@code DeltaSource}
   * @param metadata the {@code Metadata} of the change
   * @param version the version of the change
   * @param start the first version that the batch reads
   * @return true in place of Delta's check if each version is read with its own names, otherwise
   *     null
   */
  public static Object refuseStreamChange(
      Object source, Object metadata, long version, long start) {
    DeltaSource stream = (DeltaSource) source;
    SnapshotDescriptor reader = stream.snapshotAtSourceInit();
    if (!StreamedNames.isChecked(stream)) {
      return null;
    }
    if (version <= reader.version()) {
      return StreamedNames.areReadByVersion(stream, Math.min(version, start)) ? true : null;
    }
    Optional<NameHistory> later;
    try {
      later = later(reader, version, Optional.of((Metadata) metadata));
    } catch (DeltaIllegalStateException commitsAreMissing) {
      if (!"DELTA_MISSING_FILES_UNEXPECTED_VERSION".equals(commitsAreMissing.getCondition())) {
        throw commitsAreMissing;
      }
      // Log cleanup deleted commits that this stream has read. A new start needs none of them.
      throw UsageTrackingErrors.streamRestartRequired(
              reader.deltaLog().dataPath().toString(), version, reader.version())
          .sneakyThrow();
    }
    boolean isUnmapped =
        ColumnNames.of(reader.metadata()).isMapped()
            && !ColumnNames.of((Metadata) metadata).isMapped();
    if (later
        .flatMap(NameHistory::removals)
        .filter(removals -> isUnmapped || !removals.isEmpty())
        .isPresent()) {
      throw UsageTrackingErrors.streamRestartRequired(
              reader.deltaLog().dataPath().toString(), version, reader.version())
          .sneakyThrow();
    }
    if (!areColumnsKept(reader, later)) {
      throw StreamedNames.refusal(stream);
    }
    return null;
  }

  /**
   * Returns true if files that were written without column mapping stay readable after a winning
   * commit turned column mapping on: the physical names equal the logical names, and the commit's
   * operation keeps the table's columns.
   *
   * @param winner a {@code WinningCommitSummary}
   * @param metadata the {@code Metadata} of the winner, with column mapping
   */
  public static boolean canRebase(Object winner, Object metadata) {
    return ColumnNames.of((Metadata) metadata).arePhysicalNamesLogical()
        && ((WinningCommitSummary) winner)
            .commitInfo()
            .exists(info -> NameHistory.enablesMapping(info.operation()));
  }

  /**
   * Returns the history from the reader's version to a later version; empty if no version in
   * between can have removed column mapping, so that a plain table is read as without spark-ext.
   */
  private static Optional<NameHistory> later(
      SnapshotDescriptor reader, long last, Optional<Metadata> end) {
    // A removal in between that also dropped the feature truncated the history.
    if (!NameHistories.mayHaveRemovedMapping(reader.protocol())
        && !NameHistories.mayHaveRemovedMapping(newest(reader, last).protocol())) {
      return Optional.empty();
    }
    return NameHistories.since(
        reader.deltaLog(), reader.version(), last, end, () -> State.of(reader));
  }

  /** Returns the known snapshot if it is as new as a version, otherwise the newest one. */
  private static Snapshot newest(SnapshotDescriptor reader, long version) {
    DeltaLog log = reader.deltaLog();
    Snapshot known = log.unsafeVolatileSnapshot();
    return known != null && known.version() >= version
        ? known
        : log.update(
            /* stalenessAcceptable= */ false, Option.empty(), log.getInitialCatalogTable());
  }

  /** Returns true if a later version has the same columns under the reader's names. */
  private static boolean areColumnsKept(SnapshotDescriptor reader, Optional<NameHistory> later) {
    return later
        .map(history -> history.keeps(ColumnNames.of(reader.metadata()).paths()))
        .orElse(true);
  }

  private static OptionalLong firstMisleading(SnapshotDescriptor reader, long start) {
    return NameHistories.until(reader, start)
        .map(history -> history.firstMisleading(ColumnNames.of(reader.metadata())))
        .orElse(OptionalLong.empty());
  }
}
