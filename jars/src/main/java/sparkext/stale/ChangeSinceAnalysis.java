// SPDX-License-Identifier: Apache-2.0
package sparkext.stale;

import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.function.UnaryOperator;
import org.apache.spark.sql.delta.DeltaErrors;
import org.apache.spark.sql.delta.DeltaIllegalStateException;
import org.apache.spark.sql.delta.SnapshotDescriptor;
import org.apache.spark.sql.delta.actions.Metadata;
import scala.collection.immutable.Seq;
import sparkext.common.UsageTrackingException;

/** A table when a statement was analysed, and the same table when the statement runs. */
record ChangeSinceAnalysis(SnapshotDescriptor analysed, SnapshotDescriptor newest) {
  /** The properties that name the columns for row ids and commit versions of rewritten rows. */
  private static final List<String> ROW_TRACKING =
      List.of(
          "delta.rowTracking.materializedRowIdColumnName",
          "delta.rowTracking.materializedRowCommitVersionColumnName");

  /** Throws DELTA_SCHEMA_CHANGE_SINCE_ANALYSIS if the analysed plan cannot read the files. */
  void requireReadable() {
    require(isReadable());
  }

  /**
   * Throws if the analysed plan cannot read the rows, or would rewrite them without some values.
   */
  void requireRewritable() {
    require(isReadable() && (haveSameMetadata() || (haveSameRowTracking() && !columnsWereAdded())));
  }

  /** Throws if a column was dropped, or if another column has its name. */
  void requireInsertable() {
    requireColumns(UnaryOperator.identity());
  }

  /**
   * Throws if a column was dropped, or if another column has its name.
   *
   * @param meant selects the columns that the statement depends on; not called if nothing changed
   */
  void requireColumns(UnaryOperator<Set<Seq<String>>> meant) {
    if (haveSameMetadata()) {
      return;
    }
    Set<Seq<String>> paths = meant.apply(columns(analysed).paths());
    require(columnsExist(paths) && columnsAreKept(paths));
  }

  /**
   * Throws if the analysed plan cannot read the files, or if another column has a column's name. A
   * top-level column that was added, dropped, renamed or moved is refused too: MERGE inserts by
   * position.
   */
  void requireMergeable() {
    require(
        haveSameMetadata()
            || (Arrays.equals(
                    analysed.metadata().schema().names(), newest.metadata().schema().names())
                && columnsExist(columns(analysed).paths())
                && isReadable()));
  }

  private void require(boolean condition) {
    if (!condition) {
      throw UsageTrackingException.sneakyThrow(
          DeltaErrors.schemaChangedSinceAnalysis(
              analysed.metadata().schema(),
              newest.metadata().schema(),
              /* mentionLegacyFlag= */ false));
    }
  }

  /** Returns true if the metadata is unchanged, as for most statements. */
  private boolean haveSameMetadata() {
    return analysed.metadata().equals(newest.metadata());
  }

  private boolean isReadable() {
    if (haveSameMetadata()) {
      return true;
    }
    ColumnNames before = columns(analysed);
    return analysed.metadata().partitionColumns().equals(newest.metadata().partitionColumns())
        && (haveSameSchema() || before.canReadFilesOf(columns(newest)))
        && columnsAreKept(before.paths());
  }

  private boolean haveSameSchema() {
    Metadata before = analysed.metadata();
    Metadata after = newest.metadata();
    return before.schemaString().equals(after.schemaString())
        && before.columnMappingMode().equals(after.columnMappingMode());
  }

  private boolean columnsExist(Set<Seq<String>> paths) {
    return ColumnNames.haveSameColumns(paths, columns(analysed), columns(newest));
  }

  private boolean columnsWereAdded() {
    return !haveSameSchema() && columns(analysed).lacksColumnsOf(columns(newest));
  }

  private boolean haveSameRowTracking() {
    return ROW_TRACKING.stream()
        .allMatch(
            key ->
                Objects.equals(
                    analysed.metadata().configuration().get(key),
                    newest.metadata().configuration().get(key)));
  }

  /** Returns true if no version in between gave the name of a column to another column. */
  private boolean columnsAreKept(Set<Seq<String>> paths) {
    if (newest.version() <= analysed.version()) {
      return true;
    }
    if (!NameHistories.mayHaveRemovedMapping(analysed.protocol())
        && !NameHistories.mayHaveRemovedMapping(newest.protocol())) {
      // A removal in between that also dropped the feature truncated the history.
      return NameHistories.hasCommitAfter(newest.deltaLog(), analysed.version());
    }
    try {
      return NameHistories.between(analysed, newest)
          .map(history -> history.keeps(paths))
          .orElse(true);
    } catch (DeltaIllegalStateException commitsAreMissing) {
      return false;
    }
  }

  private static ColumnNames columns(SnapshotDescriptor snapshot) {
    return ColumnNames.of(snapshot.metadata());
  }
}
