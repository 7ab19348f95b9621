// SPDX-License-Identifier: Apache-2.0
package sparkext.hook;

import static sparkext.hook.DeltaHook.after;
import static sparkext.hook.DeltaHook.around;
import static sparkext.hook.DeltaHook.replacingResult;
import static sparkext.hook.HookedMethod.BOOLEAN;
import static sparkext.hook.HookedMethod.COMMANDS;
import static sparkext.hook.HookedMethod.DELTA;
import static sparkext.hook.HookedMethod.DELTA_LOG;
import static sparkext.hook.HookedMethod.MAP;
import static sparkext.hook.HookedMethod.METADATA;
import static sparkext.hook.HookedMethod.OPTION;
import static sparkext.hook.HookedMethod.PROTOCOL;
import static sparkext.hook.HookedMethod.SEQ;
import static sparkext.hook.HookedMethod.SESSION;
import static sparkext.hook.HookedMethod.TRANSACTION;
import static sparkext.hook.HookedMethod.VOID;
import static sparkext.hook.HookedMethod.method;

import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;
import org.apache.spark.sql.delta.OptimisticTransaction;
import org.apache.spark.sql.delta.actions.Metadata;
import org.apache.spark.sql.delta.actions.Protocol;
import org.apache.spark.sql.delta.commands.CloneTableCommand;
import org.apache.spark.sql.delta.commands.RestoreTableCommand;
import scala.collection.immutable.Map;
import sparkext.delta.ChangedMetadata;
import sparkext.delta.UsageTrackingFeature;
import sparkext.wire.MetadataRules;

/** The hooks of usage tracking: the table feature, the column names and the flag. */
final class TrackingHooks {
  /**
   * Adds {@code columnMappingUsageTracking} to the features that this Delta supports.
   *
   * <p>Why here: Delta has no registry. Protocol checks, {@code delta.feature.*} properties, DROP
   * FEATURE and session defaults all call this method.
   *
   * <p>If missing: a tracked table cannot be created or written.
   *
   * <p>Source: Delta 4.4.0, TableFeature.scala, {@code object
   * TableFeature.allSupportedFeaturesMap}.
   */
  private static final DeltaHook SUPPORTED_FEATURES =
      replacingResult(
          method(DELTA + "TableFeature$", MAP, "allSupportedFeaturesMap"),
          call -> withUsageTracking(call.result()));

  /**
   * Replaces the column mapping that Delta assigned by the one that the rules decide.
   *
   * <p>Why here: every metadata change passes {@code
   * OptimisticTransactionImpl.updateMetadataInternal}, which calls this method before a data file
   * is written and before the protocol is derived from the metadata.
   *
   * <p>If missing: new columns get {@code col-<uuid>} and the flag never becomes true.
   *
   * <p>Source: Delta 4.4.0, DeltaColumnMapping.scala, {@code
   * DeltaColumnMappingBase.verifyAndUpdateMetadataChange}.
   */
  static final DeltaHook ASSIGNED_METADATA =
      replacingResult(
          method(
              DELTA + "DeltaColumnMapping$",
              METADATA,
              "verifyAndUpdateMetadataChange",
              SESSION,
              DELTA_LOG,
              PROTOCOL,
              METADATA,
              METADATA,
              BOOLEAN,
              BOOLEAN),
          call -> MetadataRules.nextMetadata(call.arguments(), call.result()));

  /**
   * Removes the flag from the properties in which an existing table and the CREATE TABLE that
   * registers the table must agree. Delta removes {@code delta.columnMapping.maxColumnId} here.
   *
   * <p>Why here: {@code CreateDeltaTableCommand.verifyTableMetadata}, the one caller, passes the
   * properties of both sides to this method.
   *
   * <p>If missing: a tracked table cannot be registered again with the properties that the table
   * was created with.
   *
   * <p>Source: Delta 4.4.0, DeltaColumnMapping.scala, {@code
   * DeltaColumnMappingBase.filterColumnMappingProperties}.
   */
  private static final DeltaHook COMPARED_PROPERTIES =
      replacingResult(
          method(DELTA + "DeltaColumnMapping$", MAP, "filterColumnMappingProperties", MAP),
          call -> withoutFlag(call.result()));

  /**
   * Removes the flag from a table in the commit that drops the feature, on Delta 4.0.
   *
   * <p>Why here: later releases read from the feature which properties to remove. The command of
   * Delta 4.0 only gives its transaction the protocol without the feature, by this method.
   *
   * <p>If missing: the flag remains in a table without the feature, and its writers do not maintain
   * the flag.
   *
   * <p>Source: Delta 4.0.1, OptimisticTransaction.scala, {@code updateProtocol}.
   */
  private static final DeltaHook DOWNGRADE =
      after(
              method(DELTA + "OptimisticTransactionImpl", VOID, "updateProtocol", PROTOCOL),
              call -> Downgrade.removeFlag(call.self(), call.argument(0)))
          .onlyIn(DeltaHook::isDelta40);

  /**
   * Tells the rules whether the restored version or the cloned table is tracked.
   *
   * <p>Why here: RESTORE and CLONE change the metadata within these methods. The metadata may equal
   * that of another statement, and a session without spark-ext copies a flag and never sets it.
   *
   * <p>If missing: RESTORE of a version with an outdated flag, after {@code align_names()}, leaves
   * the flag false. A later column may then show the values of a dropped one.
   *
   * <p>Source: Delta 4.4.0, RestoreTableCommand.scala, {@code run}; CloneTableCommand.scala, {@code
   * handleClone}.
   */
  private static final List<DeltaHook> RESTORES_AND_CLONES =
      List.of(
          around(
              method(COMMANDS + "RestoreTableCommand", SEQ, "run", SESSION),
              call ->
                  MetadataRules.copying(
                      () ->
                          ((RestoreTableCommand) call.self())
                              .sourceTable()
                              .initialSnapshot()
                              .protocol())),
          around(
              method(
                  COMMANDS + "CloneTableCommand",
                  SEQ,
                  "handleClone",
                  SESSION,
                  TRANSACTION,
                  DELTA_LOG,
                  OPTION),
              call ->
                  MetadataRules.copying(
                      () -> ((CloneTableCommand) call.self()).sourceTable().protocol())));

  static final List<DeltaHook> ALL =
      Stream.of(
              List.of(SUPPORTED_FEATURES, ASSIGNED_METADATA, COMPARED_PROPERTIES, DOWNGRADE),
              RESTORES_AND_CLONES)
          .flatMap(List::stream)
          .toList();

  private TrackingHooks() {}

  @SuppressWarnings("unchecked")
  private static Object withUsageTracking(Object features) {
    return ((Map<String, Object>) features)
        .updated(UsageTrackingFeature.NAME.toLowerCase(Locale.ROOT), UsageTrackingFeature.INSTANCE);
  }

  @SuppressWarnings("unchecked")
  private static Object withoutFlag(Object properties) {
    return ((Map<String, String>) properties).removed(UsageTrackingFeature.FLAG);
  }

  /** Removes the flag when DROP FEATURE drops the feature on Delta 4.0. */
  public static final class Downgrade {
    private Downgrade() {}

    /**
     * Removes the flag in the commit that drops the feature. Delta 4.0 does not call {@link
     * UsageTrackingFeature#tablePropertiesToRemoveAtDowngradeCommit}.
     *
     * @param transaction an {@code OptimisticTransaction}
     * @param protocol the new {@code Protocol} that the transaction will commit
     */
    public static void removeFlag(Object transaction, Object protocol) {
      OptimisticTransaction downgrade = (OptimisticTransaction) transaction;
      Protocol before = downgrade.snapshot().protocol();
      if (downgrade.canUpdateMetadata()
          && UsageTrackingFeature.isSupportedBy(before)
          && before.removeFeature(UsageTrackingFeature.INSTANCE).equals(protocol)) {
        Metadata metadata = downgrade.metadata();
        downgrade.updateMetadata(
            ChangedMetadata.of(
                metadata,
                metadata.schemaString(),
                metadata.configuration().removed(UsageTrackingFeature.FLAG)),
            /* ignoreDefaultProperties= */ false);
      }
    }
  }
}
