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
import sparkext.error.UsageTrackingException;

/** A table as it was when a statement was analysed, and as it is where the statement runs. */
record ChangeSinceAnalysis(SnapshotDescriptor analysed, SnapshotDescriptor newest) {
  /** Where row ids and commit versions of rows that were written again are. */
  private static final List<String> ROW_TRACKING =
      List.of(
          "delta.rowTracking.materializedRowIdColumnName",
          "delta.rowTracking.materializedRowCommitVersionColumnName");

  /** Throws DELTA_SCHEMA_CHANGE_SINCE_ANALYSIS where a plan of then cannot read files of now. */
  void requireReadable() {
    require(isReadable());
  }

  /** Refuses rows that a plan of then cannot read, or would write again without some values. */
  void requireRewritable() {
    require(isReadable() && (haveSameMetadata() || (haveSameRowTracking() && !columnsWereAdded())));
  }

  /** Refuses values for columns of which one is gone, or another one has its name. */
  void requireInsertable() {
    requireColumns(UnaryOperator.identity());
  }

  /**
   * Refuses columns of which one is gone, or another one has its name.
   *
   * @param meant those of all paths that the statement means; not asked where nothing changed
   */
  void requireColumns(UnaryOperator<Set<Seq<String>>> meant) {
    if (haveSameMetadata()) {
      return;
    }
    Set<Seq<String>> paths = meant.apply(columns(analysed).paths());
    require(columnsAreThere(paths) && columnsWereKept(paths));
  }

  /** Refuses all of that, and columns in another order: MERGE inserts by position. */
  void requireMergeable() {
    require(
        haveSameMetadata()
            || (Arrays.equals(
                    analysed.metadata().schema().names(), newest.metadata().schema().names())
                && columnsAreThere(columns(analysed).paths())
                && isReadable()));
  }

  private void require(boolean isRight) {
    if (!isRight) {
      throw UsageTrackingException.sneakyThrow(
          DeltaErrors.schemaChangedSinceAnalysis(
              analysed.metadata().schema(),
              newest.metadata().schema(),
              /* mentionLegacyFlag= */ false));
    }
  }

  /** What most statements find, and pay for. */
  private boolean haveSameMetadata() {
    return analysed.metadata().equals(newest.metadata());
  }

  private boolean isReadable() {
    if (haveSameMetadata()) {
      return true;
    }
    ColumnNames then = columns(analysed);
    return analysed.metadata().partitionColumns().equals(newest.metadata().partitionColumns())
        && (haveSameSchema() || then.readFilesOf(columns(newest)))
        && columnsWereKept(then.paths());
  }

  private boolean haveSameSchema() {
    Metadata then = analysed.metadata();
    Metadata now = newest.metadata();
    return then.schemaString().equals(now.schemaString())
        && then.columnMappingMode().equals(now.columnMappingMode());
  }

  private boolean columnsAreThere(Set<Seq<String>> paths) {
    return ColumnNames.areKept(paths, columns(analysed), columns(newest));
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

  /** Whether no version in between gave a column's name to another one. */
  private boolean columnsWereKept(Set<Seq<String>> paths) {
    if (newest.version() <= analysed.version()) {
      return true;
    }
    if (!NameHistories.mayHaveLeft(analysed.protocol())
        && !NameHistories.mayHaveLeft(newest.protocol())) {
      // What left in between, and dropped the feature, did so together with its history.
      return NameHistories.hasNext(newest.deltaLog(), analysed.version());
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
