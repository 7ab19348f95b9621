// SPDX-License-Identifier: Apache-2.0
package sparkext.hook;

import static sparkext.hook.DeltaHook.replacingBody;
import static sparkext.hook.DeltaHook.replacingResult;
import static sparkext.hook.HookedMethod.BOOLEAN;
import static sparkext.hook.HookedMethod.COMMANDS;
import static sparkext.hook.HookedMethod.DATASET;
import static sparkext.hook.HookedMethod.SEQ;
import static sparkext.hook.HookedMethod.SESSION;
import static sparkext.hook.HookedMethod.TRANSACTION;
import static sparkext.hook.HookedMethod.VOID;
import static sparkext.hook.HookedMethod.method;

import java.util.List;
import sparkext.common.StrictFileRead;
import sparkext.removal.RemovalCommand;

/** The hooks of the removal of column mapping. */
final class RemovalHooks {
  private static final String COMMAND = COMMANDS + "columnmapping.RemoveColumnMappingCommand";

  /**
   * Skips Delta's rewrite of all files if spark-ext has removed column mapping itself.
   *
   * <p>Why here: SET and UNSET TBLPROPERTIES and DROP FEATURE all create this command and run it.
   *
   * <p>If missing: removing column mapping rewrites the table, as it does without spark-ext.
   *
   * <p>Source: Delta 4.4.0, RemoveColumnMappingCommand.scala, {@code run}.
   */
  private static final DeltaHook REMOVAL =
      replacingBody(
          method(COMMAND, VOID, "run", SESSION, BOOLEAN),
          call -> RemovalCommand.commit(call.self(), call.arguments()) ? true : null);

  /**
   * Reads every row of the files that are rewritten, and ignores the session's settings to skip
   * rows.
   *
   * <p>Why here: Delta's rewrite and the rewrite of single files by spark-ext both read the rows
   * through this method.
   *
   * <p>If missing: the table loses the rows that a session skips, such as those of corrupt files
   * under {@code spark.sql.files.ignoreCorruptFiles}.
   *
   * <p>Source: Delta 4.4.0, RemoveColumnMappingCommand.scala, {@code buildDataFrame}.
   */
  private static final DeltaHook REWRITTEN_ROWS =
      replacingResult(
          method(COMMAND, DATASET, "buildDataFrame", TRANSACTION, SEQ),
          call -> StrictFileRead.of(call.result()));

  static final List<DeltaHook> ALL = List.of(REMOVAL, REWRITTEN_ROWS);

  private RemovalHooks() {}
}
