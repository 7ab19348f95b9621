// SPDX-License-Identifier: Apache-2.0
package sparkext.hook;

import static sparkext.hook.DeltaHook.after;
import static sparkext.hook.DeltaHook.before;
import static sparkext.hook.HookedMethod.COMMANDS;
import static sparkext.hook.HookedMethod.DATASET;
import static sparkext.hook.HookedMethod.DELTA;
import static sparkext.hook.HookedMethod.DELTA_LOG;
import static sparkext.hook.HookedMethod.LOGICAL_PLAN;
import static sparkext.hook.HookedMethod.SESSION;
import static sparkext.hook.HookedMethod.TRANSACTION;
import static sparkext.hook.HookedMethod.VOID;
import static sparkext.hook.HookedMethod.method;

import java.util.List;
import sparkext.stale.StalePlan;
import sparkext.wire.MetadataRules;

/**
 * The hooks that refuse to read files by a plan whose columns had other names when the plan was
 * analysed.
 */
final class StalePlanHooks {
  /**
   * Refuses to scan, or to rewrite, files of the newest version by a plan that looks for columns
   * under names that these files lack, or that knows too few columns to rewrite rows. Starts the
   * rule process for the first tracked table.
   *
   * <p>Why here: every planned scan of a Delta table passes this method, inside and outside of
   * transactions, and so do the rows that UPDATE, DELETE and MERGE rewrite. {@link
   * sparkext.stale.StaleAggregate} covers aggregates without a scan.
   *
   * <p>If missing: a statement that was analysed before column mapping was removed, or before a
   * name was given to another column, writes nulls and values of other columns.
   *
   * <p>Source: Delta 4.4.0, DeltaTable.scala, {@code DeltaTableUtils.replaceFileIndex}.
   */
  private static final DeltaHook SCANNED_FILES =
      before(
          method(
              DELTA + "DeltaTableUtils$",
              LOGICAL_PLAN,
              "replaceFileIndex",
              LOGICAL_PLAN,
              "org.apache.spark.sql.execution.datasources.FileIndex"),
          call -> {
            StalePlan.refuseScan(call.argument(0), call.argument(1));
            MetadataRules.expectQuestions(call.argument(1));
          });

  /**
   * Refuses to list files for a stale plan, in a session that plans without data skipping.
   *
   * <p>Why here: Spark then lists a table's files by its index, which takes its snapshot from this
   * method. In this method, Delta compares physical names only, and a setting can turn the
   * comparison off.
   *
   * <p>If missing: as without {@link #SCANNED_FILES}, under {@code
   * spark.databricks.delta.stats.skipping = false}.
   *
   * <p>Source: Delta 4.4.0, TahoeFileIndex.scala, {@code TahoeLogFileIndex.getSnapshot}.
   */
  private static final DeltaHook LISTED_FILES =
      after(
          method(DELTA + "files.TahoeLogFileIndex", DELTA + "Snapshot", "getSnapshot"),
          call -> StalePlan.refuseListed(call.self(), call.result()));

  /**
   * Refuses to search rows by a stale plan if deletion vectors mark the rows.
   *
   * <p>Why here: UPDATE, DELETE and MERGE search such rows through this method only, which changes
   * the files of the plan without {@link #SCANNED_FILES}.
   *
   * <p>If missing: a statement that was analysed before names changed deletes wrong rows.
   *
   * <p>Source: Delta 4.4.0, DMLWithDeletionVectorsHelper.scala, {@code
   * createTargetDfForScanningForMatches}.
   */
  private static final DeltaHook MATCHED_ROWS =
      before(
          method(
              COMMANDS + "DMLWithDeletionVectorsHelper$",
              DATASET,
              "createTargetDfForScanningForMatches",
              SESSION,
              LOGICAL_PLAN,
              DELTA + "files.TahoeFileIndex"),
          call -> StalePlan.refuseMatching(call.argument(1), call.argument(2)));

  /**
   * Refuses a DELETE that was analysed when its columns had other names.
   *
   * <p>Why here: a condition on partition columns deletes whole files by the partition values in
   * the log, and no file is read. The statistics in the log may also exclude every file.
   *
   * <p>If missing: after two partition columns exchanged names, a stale DeltaTable deletes the rows
   * of another partition. After two other columns exchanged names, it deletes no row.
   *
   * <p>Source: Delta 4.4.0, DeleteCommand.scala, {@code performDelete}.
   */
  private static final DeltaHook DELETE =
      before(
          method(
              COMMANDS + "DeleteCommand",
              "scala.Tuple2",
              "performDelete",
              SESSION,
              DELTA_LOG,
              TRANSACTION),
          call -> StalePlan.refuseSearch(call.self(), call.argument(2)));

  /**
   * Refuses an UPDATE that was analysed when its columns had other names.
   *
   * <p>Why here: the statistics in the log may exclude every file, so that no file is scanned.
   *
   * <p>If missing: after two columns exchanged names, a stale DeltaTable updates no row.
   *
   * <p>Source: Delta 4.4.0, UpdateCommand.scala, {@code performUpdate}.
   */
  private static final DeltaHook UPDATE =
      before(
          method(
              COMMANDS + "UpdateCommand", VOID, "performUpdate", SESSION, DELTA_LOG, TRANSACTION),
          call -> StalePlan.refuseSearch(call.self(), call.argument(2)));

  static final List<DeltaHook> ALL =
      List.of(SCANNED_FILES, LISTED_FILES, MATCHED_ROWS, DELETE, UPDATE);

  private StalePlanHooks() {}
}
