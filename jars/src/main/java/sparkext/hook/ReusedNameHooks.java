// SPDX-License-Identifier: Apache-2.0
package sparkext.hook;

import static sparkext.hook.DeltaHook.after;
import static sparkext.hook.DeltaHook.replacingResult;
import static sparkext.hook.HookedMethod.BOOLEAN;
import static sparkext.hook.HookedMethod.COMMANDS;
import static sparkext.hook.HookedMethod.DELTA;
import static sparkext.hook.HookedMethod.LONG;
import static sparkext.hook.HookedMethod.METADATA;
import static sparkext.hook.HookedMethod.VOID;
import static sparkext.hook.HookedMethod.method;

import java.util.List;
import net.bytebuddy.pool.TypePool;
import sparkext.hook.DeltaHook.HookCall;
import sparkext.stale.ReusedNames;

/** The hooks that refuse to combine files in which one physical name means two columns. */
final class ReusedNameHooks {
  private static final String CONFLICT_CHECKER = DELTA + "ConflictChecker";
  private static final String CDC_READER = COMMANDS + "cdc.CDCReaderBase";
  private static final String CDC_CHECK = "checkBatchCdfReadSchemaIncompatibility";

  /**
   * Makes a transaction conflict with a winner that turned column mapping on with physical names
   * other than the logical names, or with the columns of another version, as RESTORE does.
   *
   * <p>Why here: Delta calls this method before it rebases a transaction on a winner that turned
   * column mapping on. Delta 4.0 rebases on no such winner, unless a vendor added the rebase.
   *
   * <p>If missing: values that were written without column mapping are null after such a RESTORE.
   *
   * <p>Source: Delta 4.4.0, ConflictChecker.scala, {@code areColumnMappingChangesConflictFree}.
   */
  private static final DeltaHook REBASED_NAMES =
      replacingResult(
              method(
                  CONFLICT_CHECKER,
                  BOOLEAN,
                  "areColumnMappingChangesConflictFree",
                  METADATA,
                  METADATA),
              call ->
                  (boolean) call.result()
                      && ReusedNames.canRebase(call.fields()[0], call.argument(1)))
          .withFields("winningCommitSummary")
          .onlyIn(
              types ->
                  !DeltaHook.isDelta40(types)
                      || DeltaHook.has(
                          types, CONFLICT_CHECKER, "attemptToResolveMetadataConflicts"));

  /**
   * Refuses to read changes with a schema in which a column has the name that a dropped column has
   * in the older files.
   *
   * <p>Why here: a batch read of changes compares its schema with each metadata of its range
   * through this method, with the metadata of the first version last.
   *
   * <p>If missing: after column mapping was removed, the values of a dropped column are read as
   * values of a later column of that name. Delta distinguishes columns by physical name.
   *
   * <p>Source: Delta 4.4.0, CDCReaderBase.scala, {@code checkBatchCdfReadSchemaIncompatibility}.
   */
  private static final DeltaHook CHANGE_FEED =
      after(
              method(
                  CDC_READER,
                  VOID,
                  CDC_CHECK,
                  DELTA + "SnapshotDescriptor",
                  LONG,
                  LONG,
                  BOOLEAN,
                  METADATA,
                  LONG,
                  BOOLEAN),
              call -> refuseChanges(call, 0, 1, 2, 3, 6))
          .onlyIn(ReusedNameHooks::hasCdcReaderBase);

  /**
   * Does the same on Delta 4.0.
   *
   * <p>Why here: the check is a method inside of {@code changesToDF}, and Scala appends the
   * captured variables of {@code changesToDF} to the arguments of the check.
   *
   * <p>If missing: as without {@link #CHANGE_FEED}.
   *
   * <p>Source: Delta 4.0.1, CDCReader.scala, {@code changesToDF}.
   */
  private static final DeltaHook CHANGE_FEED_OF_DELTA_40 =
      after(
              method(
                  COMMANDS + "cdc.CDCReaderImpl",
                  VOID,
                  CDC_CHECK + "$1",
                  METADATA,
                  LONG,
                  BOOLEAN,
                  BOOLEAN,
                  DELTA + "SnapshotDescriptor",
                  LONG,
                  LONG),
              call -> refuseChanges(call, 4, 5, 6, 3, 2))
          .onlyIn(types -> !hasCdcReaderBase(types));

  static final List<DeltaHook> ALL = List.of(REBASED_NAMES, CHANGE_FEED, CHANGE_FEED_OF_DELTA_40);

  private ReusedNameHooks() {}

  private static boolean hasCdcReaderBase(TypePool types) {
    return types.describe(CDC_READER).isResolved();
  }

  /** Passes on the arguments at these positions, if the argument at {@code isChecked} is true. */
  private static void refuseChanges(
      HookCall call, int reader, int start, int end, int isChecked, int isSchemaChange) {
    if ((boolean) call.argument(isChecked)) {
      ReusedNames.refuseChanges(
          call.argument(reader),
          (long) call.argument(start),
          (long) call.argument(end),
          (boolean) call.argument(isSchemaChange));
    }
  }
}
