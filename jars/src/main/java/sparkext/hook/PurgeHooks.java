// SPDX-License-Identifier: Apache-2.0
package sparkext.hook;

import static sparkext.hook.DeltaHook.atEnd;
import static sparkext.hook.DeltaHook.replacingArguments;
import static sparkext.hook.DeltaHook.replacingBody;
import static sparkext.hook.DeltaHook.replacingResult;
import static sparkext.hook.HookedMethod.COMMANDS;
import static sparkext.hook.HookedMethod.DELTA;
import static sparkext.hook.HookedMethod.LONG;
import static sparkext.hook.HookedMethod.MAP;
import static sparkext.hook.HookedMethod.SEQ;
import static sparkext.hook.HookedMethod.TRANSACTION;
import static sparkext.hook.HookedMethod.VOID;
import static sparkext.hook.HookedMethod.method;

import java.util.List;
import sparkext.removal.PurgeCommand;

/**
 * The hooks of REORG TABLE .. APPLY (PURGE), which copy files without their dropped columns.
 *
 * <p>OPTIMIZE, REORG and DROP FEATURE deletionVectors all run the executor that is hooked. Delta
 * still chooses the files, commits beside other writers and counts the metrics.
 *
 * <p>Source: Delta 4.4.0, OptimizeTableCommand.scala, {@code OptimizeExecutor}.
 */
final class PurgeHooks {
  private static final String EXECUTOR = COMMANDS + "OptimizeExecutor";
  private static final HookedMethod GROUP_FILES = method(EXECUTOR, SEQ, "groupFilesIntoBins", SEQ);
  private static final HookedMethod WRITE_GROUP =
      method(EXECUTOR, SEQ, "runOptimizeBinJob", TRANSACTION, MAP, SEQ, LONG);

  /**
   * Copies the files that can be copied, and gives Delta the other files to group.
   *
   * <p>Why here: all files of the statement are known, and none is written.
   *
   * <p>If missing: a purge decodes and encodes each file, as it does without spark-ext.
   */
  private static final DeltaHook COPIES =
      replacingArguments(
              GROUP_FILES,
              call -> new Object[] {PurgeCommand.begin(call.selfAndFields(), call.argument(0))})
          .withFields("sparkSession", "snapshot", "catalogTable", "optimizeContext");

  /**
   * Adds a group for each copied file.
   *
   * <p>Why here: Delta commits, counts and reports the files in groups.
   *
   * <p>If missing: the copies are never committed.
   */
  private static final DeltaHook GROUPS =
      replacingResult(GROUP_FILES, call -> PurgeCommand.group(call.self(), call.result()));

  /**
   * Returns the actions of a copied file in place of a rewrite.
   *
   * <p>Why here: this method writes one group, and Delta commits its result.
   *
   * <p>If missing: Delta rewrites the files that were copied.
   */
  private static final DeltaHook COPIED_GROUP =
      replacingBody(WRITE_GROUP, call -> PurgeCommand.actions(call.self(), call.argument(2)));

  /**
   * Remembers that Delta could not write a group, and so commits no group of its batch.
   *
   * <p>Why here: this method writes one group.
   *
   * <p>If missing: copies that no commit names remain in the folder of the table.
   */
  private static final DeltaHook FAILED_GROUP =
      atEnd(
          WRITE_GROUP,
          call -> {
            if (call.failure() != null) {
              PurgeCommand.fail(call.self());
            }
          });

  /**
   * Refuses to commit the copies on a later version that has a column which the copies lack.
   *
   * <p>Why here: Delta calls the function, which is the last argument, before it retries a commit.
   *
   * <p>If missing: values of a column that another writer added during the purge can be lost.
   */
  private static final DeltaHook RETRIES =
      replacingArguments(
          method(
              EXECUTOR,
              VOID,
              "commitAndRetry",
              TRANSACTION,
              DELTA + "DeltaOperations$Operation",
              SEQ,
              MAP,
              "scala.Function1"),
          call -> {
            Object[] arguments = call.arguments();
            arguments[4] = PurgeCommand.commit(call.self(), arguments[4]);
            return arguments;
          });

  /**
   * Removes the copies that no commit names, and reports why the statement failed.
   *
   * <p>Why here: the statement ends with this method.
   *
   * <p>If missing: copies that no commit names remain in the folder of the table.
   */
  private static final DeltaHook END =
      atEnd(
              method(EXECUTOR, SEQ, "optimize"),
              call -> PurgeCommand.end(call.selfAndFields(), call.failure()))
          .withFields(
              "sparkSession", "snapshot", "catalogTable", "optimizeContext", "partitionPredicate");

  static final List<DeltaHook> ALL =
      List.of(COPIES, GROUPS, COPIED_GROUP, FAILED_GROUP, RETRIES, END);

  private PurgeHooks() {}
}
