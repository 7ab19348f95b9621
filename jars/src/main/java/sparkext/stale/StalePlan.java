// SPDX-License-Identifier: Apache-2.0
package sparkext.stale;

import java.util.List;
import java.util.Objects;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.delta.DeltaErrors;
import org.apache.spark.sql.delta.DeltaParquetFileFormat;
import org.apache.spark.sql.delta.OptimisticTransaction;
import org.apache.spark.sql.delta.actions.Metadata;
import org.apache.spark.sql.delta.files.TahoeBatchFileIndex;
import org.apache.spark.sql.delta.files.TahoeFileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import scala.jdk.javaapi.CollectionConverters;
import sparkext.error.UsageTrackingException;

/**
 * Refuses to read a table's files by a plan that was analysed when their columns had other names.
 *
 * <p>Delta compares the two for reads outside of a transaction only, of each table the first, and
 * columns by their names in files alone. In a transaction it puts the newest files under whatever
 * plan there is.
 *
 * <p>Source: Delta 4.4.0, TahoeFileIndex.scala, {@code TahoeLogFileIndex.getSnapshot}.
 */
public final class StalePlan {
  /** Delta's own, by which a session reads outside of transactions at its own risk. */
  private static final String CHECKED = "spark.databricks.delta.checkLatestSchemaOnRead";

  /** Where row ids and commit versions of rows that were written again are. */
  private static final List<String> ROW_TRACKING =
      List.of(
          "delta.rowTracking.materializedRowIdColumnName",
          "delta.rowTracking.materializedRowCommitVersionColumnName");

  private StalePlan() {}

  /**
   * Throws DELTA_SCHEMA_CHANGE_SINCE_ANALYSIS where the plan cannot read these files.
   *
   * @param plan a {@code LogicalPlan} over one table
   * @param files the {@code FileIndex} that it gets; of rows that are written again, a {@code
   *     TahoeBatchFileIndex}
   */
  public static void refuseScan(Object plan, Object files) {
    if (files instanceof TahoeFileIndex index) {
      refuse((LogicalPlan) plan, index, /* writesRows= */ files instanceof TahoeBatchFileIndex);
    }
  }

  /** Likewise, where the rows that are found stay in their files. */
  public static void refuseMatching(Object plan, Object files) {
    refuse((LogicalPlan) plan, (TahoeFileIndex) files, /* writesRows= */ false);
  }

  private static void refuse(LogicalPlan plan, TahoeFileIndex files, boolean writesRows) {
    if (files instanceof TahoeBatchFileIndex batch && batch.addFiles().isEmpty()) {
      return;
    }
    for (LogicalPlan leaf : CollectionConverters.asJava(plan.collectLeaves())) {
      if (leaf instanceof LogicalRelation relation
          && relation.relation() instanceof HadoopFsRelation table
          && table.fileFormat() instanceof DeltaParquetFileFormat format
          && isStale(format.metadata(), files.metadata(), writesRows)
          && isChecked(files)) {
        throw UsageTrackingException.sneak(
            DeltaErrors.schemaChangedSinceAnalysis(
                format.metadata().schema(),
                files.metadata().schema(),
                /* mentionLegacyFlag= */ false));
      }
    }
  }

  private static boolean isStale(Metadata analysed, Metadata newest, boolean writesRows) {
    if (analysed == newest) {
      return false;
    }
    if (!analysed.partitionColumns().equals(newest.partitionColumns())) {
      return true;
    }
    if (writesRows && !haveSameRowTracking(analysed, newest)) {
      return true;
    }
    if (analysed.schemaString().equals(newest.schemaString())
        && analysed.columnMappingMode().equals(newest.columnMappingMode())) {
      return false;
    }
    ColumnNames old = ColumnNames.of(analysed);
    ColumnNames now = ColumnNames.of(newest);
    // A row that is written again by a plan without the newer columns loses their values.
    return !old.readFilesOf(now) || (writesRows && old.lackSomeOf(now));
  }

  private static boolean haveSameRowTracking(Metadata analysed, Metadata newest) {
    return ROW_TRACKING.stream()
        .allMatch(
            key ->
                Objects.equals(analysed.configuration().get(key), newest.configuration().get(key)));
  }

  private static boolean isChecked(TahoeFileIndex files) {
    return files instanceof TahoeBatchFileIndex
        || OptimisticTransaction.getActive().isDefined()
        || Boolean.parseBoolean(SparkSession.active().conf().get(CHECKED, "true"));
  }
}
