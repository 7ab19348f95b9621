// SPDX-License-Identifier: Apache-2.0
package sparkext.hook;

import static sparkext.hook.DeltaHook.after;
import static sparkext.hook.DeltaHook.around;
import static sparkext.hook.DeltaHook.replacingResult;
import static sparkext.hook.HookedMethod.BOOLEAN;
import static sparkext.hook.HookedMethod.COMMANDS;
import static sparkext.hook.HookedMethod.DATASET;
import static sparkext.hook.HookedMethod.DELTA;
import static sparkext.hook.HookedMethod.DELTA_LOG;
import static sparkext.hook.HookedMethod.OPTION;
import static sparkext.hook.HookedMethod.SEQ;
import static sparkext.hook.HookedMethod.SESSION;
import static sparkext.hook.HookedMethod.TRANSACTION;
import static sparkext.hook.HookedMethod.VOID;
import static sparkext.hook.HookedMethod.method;

import java.util.List;
import java.util.stream.Stream;
import sparkext.stale.StaleStatement;

/**
 * The hooks that refuse a statement if its columns changed between its analysis and its
 * transaction: some remember the analysed table while the statement runs, one compares.
 */
final class StaleStatementHooks {
  /**
   * Remembers the table that an INSERT was analysed with.
   *
   * <p>Why here: INSERT by position and by name, {@code insertInto}, {@code saveAsTable} and {@code
   * writeTo} all write through the object that this method builds from the analysed table.
   *
   * <p>If missing: inserted values arrive in another column that got the name between the analysis
   * and the transaction.
   *
   * <p>Source: Delta 4.4.0, DeltaTableV2.scala, {@code WriteIntoDeltaBuilder.build}.
   */
  private static final DeltaHook INSERT =
      replacingResult(
          method(
              DELTA + "catalog.WriteIntoDeltaBuilder",
              "org.apache.spark.sql.connector.write.V1Write",
              "build"),
          call -> StaleStatement.remembering(call.self(), call.result()));

  /**
   * Remembers the table that an INSERT into a view or a DataFrame's relation was analysed with.
   *
   * <p>Why here: INSERT INTO a view of a DataFrame writes through this method only.
   *
   * <p>If missing: as without {@link #INSERT}.
   *
   * <p>Source: Delta 4.4.0, DeltaLog.scala, {@code createRelation}, whose relation can be written.
   */
  private static final DeltaHook VIEW_INSERT =
      remembering(method(DELTA + "DeltaLog$$anon$2", VOID, "insert", DATASET, BOOLEAN));

  /**
   * Remembers the table that an INSERT OVERWRITE of dynamic partitions was analysed with.
   *
   * <p>Why here: this command writes without {@link #INSERT}, under {@code
   * spark.sql.sources.partitionOverwriteMode = dynamic}.
   *
   * <p>If missing: as without {@link #INSERT}.
   *
   * <p>Source: Delta 4.4.0, DeltaAnalysis.scala, {@code DeltaDynamicPartitionOverwriteCommand.run}.
   */
  private static final DeltaHook PARTITION_INSERT =
      remembering(command(DELTA + "DeltaDynamicPartitionOverwriteCommand", "run"));

  /**
   * Remembers the table that a MERGE was analysed with.
   *
   * <p>Why here: a MERGE that finds no file to read reads nothing that {@link StalePlanHooks} could
   * compare, and inserts by position.
   *
   * <p>If missing: after a column was dropped and another added, or columns changed places, a stale
   * DeltaTable inserts values into other columns, or matches no row.
   *
   * <p>Source: Delta 4.4.0, MergeIntoCommand.scala, {@code runMerge}.
   */
  private static final DeltaHook MERGE =
      remembering(command(COMMANDS + "MergeIntoCommand", "runMerge"));

  /**
   * Remembers the table that ALTER TABLE DROP, RENAME, CHANGE or REPLACE COLUMNS was analysed with.
   *
   * <p>Why here: each of these commands has the analysed table, and finds its column by name in the
   * table of its transaction.
   *
   * <p>If missing: if another statement gave the name to another column in between, this statement
   * changes that column.
   *
   * <p>Source: Delta 4.4.0, alterDeltaTableCommands.scala, {@code run} of the commands.
   */
  private static final List<DeltaHook> ALTERED_COLUMNS =
      Stream.of(
              "AlterTableDropColumnsDeltaCommand",
              "AlterTableChangeColumnDeltaCommand",
              "AlterTableReplaceColumnsDeltaCommand")
          .map(command -> remembering(command(COMMANDS + command, "run")))
          .toList();

  /**
   * Refuses a statement if its columns changed since the remembered version of its table.
   *
   * <p>Why here: only the transaction knows the version that it writes to, and Delta's conflict
   * checks begin with that version.
   *
   * <p>If missing: the other hooks of this class have no effect.
   *
   * <p>Source: Delta 4.4.0, DeltaLog.scala, {@code startTransaction}.
   */
  private static final DeltaHook TRANSACTION_START =
      after(
          method(DELTA_LOG, TRANSACTION, "startTransaction", OPTION, OPTION),
          call -> StaleStatement.refuse(call.self(), call.result()));

  static final List<DeltaHook> ALL =
      Stream.of(
              List.of(INSERT, VIEW_INSERT, PARTITION_INSERT, MERGE),
              ALTERED_COLUMNS,
              List.of(TRANSACTION_START))
          .flatMap(List::stream)
          .toList();

  private StaleStatementHooks() {}

  private static DeltaHook remembering(HookedMethod method) {
    return around(
        method,
        call -> {
          StaleStatement.begin(call.self());
          return StaleStatement::end;
        });
  }

  private static HookedMethod command(String typeName, String name) {
    return method(typeName, SEQ, name, SESSION);
  }
}
