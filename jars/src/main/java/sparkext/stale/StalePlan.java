// SPDX-License-Identifier: Apache-2.0
package sparkext.stale;

import java.util.stream.Stream;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.delta.OptimisticTransaction;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.SnapshotDescriptor;
import org.apache.spark.sql.delta.commands.DeleteCommand;
import org.apache.spark.sql.delta.commands.UpdateCommand;
import org.apache.spark.sql.delta.files.TahoeBatchFileIndex;
import org.apache.spark.sql.delta.files.TahoeFileIndex;
import org.apache.spark.sql.delta.files.TahoeLogFileIndex;
import org.apache.spark.sql.delta.stats.PreparedDeltaFileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Refuses to read files by a plan that was analysed when the columns had other names, with
 * DELTA_SCHEMA_CHANGE_SINCE_ANALYSIS.
 *
 * <p>Delta compares plan and files only outside of transactions, only for the first scan of a table
 * in a query, and only by physical name. In a transaction Delta puts the newest files under any
 * plan.
 *
 * <p>Source: Delta 4.4.0, TahoeFileIndex.scala, {@code TahoeLogFileIndex.getSnapshot}.
 */
public final class StalePlan {
  /** Delta's setting that turns the comparison off for reads outside of transactions. */
  private static final String CHECKED = "spark.databricks.delta.checkLatestSchemaOnRead";

  /** Source: Spark, StreamExecution.scala, {@code QUERY_ID_KEY}. */
  private static final String STREAM = "sql.streaming.queryId";

  private StalePlan() {}

  /**
   * Throws if a stale plan would scan files or rewrite rows.
   *
   * @param plan a {@code LogicalPlan} over one table
   * @param files the {@code FileIndex} of the scan; a {@code TahoeBatchFileIndex} if rows are
   *     rewritten
   */
  public static void refuseScan(Object plan, Object files) {
    if (files instanceof TahoeBatchFileIndex batch) {
      if (!batch.addFiles().isEmpty()) {
        for (SnapshotDescriptor analysed : analysed((LogicalPlan) plan)) {
          new ChangeSinceAnalysis(analysed, batch.snapshot()).requireRewritable();
        }
      }
    } else if (files instanceof PreparedDeltaFileIndex prepared && areReadsChecked()) {
      requireReadable((LogicalPlan) plan, prepared);
    }
  }

  /**
   * Throws if a stale plan would list files.
   *
   * @param index the {@code TahoeLogFileIndex} of the analysis
   * @param snapshot the {@code Snapshot} that is read
   */
  public static void refuseListed(Object index, Object snapshot) {
    if (areReadsChecked()) {
      new ChangeSinceAnalysis(((TahoeLogFileIndex) index).snapshotAtAnalysis(), (Snapshot) snapshot)
          .requireReadable();
    }
  }

  private static boolean areReadsChecked() {
    return OptimisticTransaction.getActive().isDefined()
        // The batch of a sink is planned before its transaction.
        || SparkSession.active().sparkContext().getLocalProperty(STREAM) != null
        || Boolean.parseBoolean(SparkSession.active().conf().get(CHECKED, "true"));
  }

  /**
   * Throws if a stale plan would search rows to mark in deletion vectors.
   *
   * @param plan a {@code LogicalPlan} over one table
   * @param files the {@code TahoeBatchFileIndex} of the search
   */
  public static void refuseMatching(Object plan, Object files) {
    if (files instanceof TahoeBatchFileIndex batch && !batch.addFiles().isEmpty()) {
      requireReadable((LogicalPlan) plan, batch.snapshot());
    }
  }

  /**
   * Throws if a DELETE or an UPDATE has a stale condition on columns. If such a statement reads no
   * file, no other check sees the statement.
   *
   * @param command a {@code DeleteCommand} or an {@code UpdateCommand}
   * @param transaction its {@code OptimisticTransaction}
   */
  public static void refuseSearch(Object command, Object transaction) {
    if (command instanceof DeleteCommand delete) {
      refuseSearch(delete.target(), delete.condition(), (OptimisticTransaction) transaction);
    } else if (command instanceof UpdateCommand update) {
      refuseSearch(update.target(), update.condition(), (OptimisticTransaction) transaction);
    }
  }

  private static void refuseSearch(
      LogicalPlan target, Option<Expression> condition, OptimisticTransaction transaction) {
    if (condition.isDefined() && !condition.get().references().isEmpty()) {
      requireReadable(target, transaction.snapshot());
    }
  }

  private static void requireReadable(LogicalPlan plan, SnapshotDescriptor newest) {
    for (SnapshotDescriptor analysed : analysed(plan)) {
      new ChangeSinceAnalysis(analysed, newest).requireReadable();
    }
  }

  private static Iterable<SnapshotDescriptor> analysed(LogicalPlan plan) {
    return files(plan).map(StalePlan::analysed)::iterator;
  }

  private static SnapshotDescriptor analysed(TahoeFileIndex files) {
    return files instanceof TahoeLogFileIndex index ? index.snapshotAtAnalysis() : files;
  }

  /** Returns the tables of a plan whose files are not listed yet. */
  static Stream<TahoeLogFileIndex> indexes(LogicalPlan plan) {
    return files(plan)
        .filter(TahoeLogFileIndex.class::isInstance)
        .map(TahoeLogFileIndex.class::cast);
  }

  private static Stream<TahoeFileIndex> files(LogicalPlan plan) {
    return CollectionConverters.asJava(plan.collectLeaves()).stream()
        .filter(LogicalRelation.class::isInstance)
        .map(leaf -> ((LogicalRelation) leaf).relation())
        .filter(HadoopFsRelation.class::isInstance)
        .map(relation -> ((HadoopFsRelation) relation).location())
        .filter(TahoeFileIndex.class::isInstance)
        .map(TahoeFileIndex.class::cast);
  }
}
