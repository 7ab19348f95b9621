// SPDX-License-Identifier: Apache-2.0
package sparkext.command;

import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.delta.DeltaColumnMapping$;
import org.apache.spark.sql.delta.OptimisticTransaction;
import org.apache.spark.sql.delta.RowTracking$;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.actions.Action;
import org.apache.spark.sql.delta.actions.Metadata;
import org.apache.spark.sql.delta.actions.Protocol;
import org.apache.spark.sql.delta.commands.columnmapping.RemoveColumnMappingCommand;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.collection.immutable.Map$;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction0;
import sparkext.copy.FileResult;
import sparkext.error.UsageTrackingException;
import sparkext.feature.UsageTrackingFeature;
import sparkext.parquet.ColumnPlan;
import sparkext.rule.CountedFiles;
import sparkext.rule.CountedFiles.Count;
import sparkext.rule.MetadataRules;
import sparkext.rule.Removal;

/**
 * Delta's removal of column mapping without its rewrite: one commit, for which files are copied
 * under other names at most, and none is touched where metadata alone suffices.
 *
 * <p>What may be is decided by {@code spark_ext/leave/removal.py}, and what becomes of the columns
 * by {@code copy_plan.py}. The transaction reads the whole table, as Delta's does, and conflicts
 * with every concurrent change; a writer that raced with it fails as it would after Delta's own.
 *
 * <p>Source: Delta 4.4.0, RemoveColumnMappingCommand.scala, {@code run}.
 */
public final class ColumnMappingRemoval {
  private ColumnMappingRemoval() {}

  /**
   * Removes column mapping in one commit where that is allowed and asked for.
   *
   * @param removal a {@code RemoveColumnMappingCommand}
   * @param arguments those of its {@code run}
   * @return whether it was committed; if not, nothing was written and Delta's rewrite has to do it
   * @throws UsageTrackingException a failure of the rules, or a file that nobody can read; the
   *     statement fails with it
   */
  public static boolean commit(Object removal, Object[] arguments) {
    RemoveColumnMappingCommand command = (RemoveColumnMappingCommand) removal;
    SparkSession session = (SparkSession) arguments[0];
    OptimisticTransaction transaction =
        command.deltaLog().startTransaction(command.catalogOpt(), Option.empty());
    Optional<Removal> allowed =
        allowed(RemovalSetting.of(session), transaction.protocol(), transaction.metadata());
    if (allowed.isEmpty()) {
      return false;
    }
    OptimisticTransaction.withActive(
        transaction,
        /* overrideExistingTransaction= */ false,
        new AbstractFunction0<Void>() {
          @Override
          public Void apply() {
            commit(command, session, transaction, (boolean) arguments[1], allowed.get());
            return null;
          }
        });
    return true;
  }

  /**
   * Counts what a removal would do to each file, by reading the footers in a Spark job.
   *
   * @return null where it would copy none
   * @throws UsageTrackingException as {@link #commit}
   */
  public static CountedFiles count(SparkSession session, Snapshot snapshot) {
    Optional<ColumnPlan> plan =
        allowed(RemovalSetting.of(session), snapshot.protocol(), snapshot.metadata())
            .flatMap(Removal::plan);
    if (plan.isEmpty()) {
      return null;
    }
    FilePlaces places = new FilePlaces(snapshot.deltaLog().dataPath(), snapshot.metadata());
    TableFiles files =
        new TableFiles(session, snapshot, snapshot.deltaLog().newDeltaHadoopConf(), plan.get());
    Count kept = Count.ZERO;
    Count copied = Count.ZERO;
    Count rewritten = Count.ZERO;
    for (FileResult result : files.looked(places)) {
      long size = files.get(result.number()).size();
      switch (result.kind()) {
        case KEPT -> kept = kept.plus(size);
        case COPIED -> copied = copied.plus(size);
        default -> rewritten = rewritten.plus(size);
      }
    }
    return new CountedFiles(kept, copied, rewritten);
  }

  /** How a removal may go on; nothing where it is Delta's. */
  private static Optional<Removal> allowed(
      RemovalSetting setting, Protocol protocol, Metadata metadata) {
    boolean isTracked = UsageTrackingFeature.isSupportedBy(protocol);
    if (setting == RemovalSetting.REWRITE || (setting == RemovalSetting.UNSET && !isTracked)) {
      return Optional.empty();
    }
    Removal removal = MetadataRules.removal(protocol, metadata);
    return removal.isFree() || removal.plan().isPresent() ? Optional.of(removal) : Optional.empty();
  }

  private static void commit(
      RemoveColumnMappingCommand command,
      SparkSession session,
      OptimisticTransaction transaction,
      boolean removesProperty,
      Removal allowed) {
    StructType schema =
        DeltaColumnMapping$.MODULE$.dropColumnMappingMetadata(transaction.metadata().schema());
    command.verifySchemaFieldNames(schema);
    command.updateMetadata(removesProperty, transaction, schema);
    if (allowed.isFree()) {
      FileCounts.none().register(session, transaction);
      commit(transaction, List.of());
    } else {
      // What Delta would refuse of the commit, before any file is written.
      OptimisticTransaction never =
          new OptimisticTransaction(
              command.deltaLog(), command.catalogOpt(), transaction.snapshot());
      command.updateMetadata(removesProperty, never, schema);
      never.prepareCommit(
          CollectionConverters.asScala(List.<Action>of()).toList(), new RemovalOperation());
      new CopiedFiles(command, session, transaction, allowed.plan().get()).commit();
    }
  }

  static void commit(OptimisticTransaction transaction, List<Action> actions) {
    transaction.commit(
        CollectionConverters.asScala(actions).toList(),
        new RemovalOperation(),
        RowTracking$.MODULE$.addPreservedRowTrackingTagIfNotSet(
            transaction.snapshot(), Map$.MODULE$.empty()));
  }
}
