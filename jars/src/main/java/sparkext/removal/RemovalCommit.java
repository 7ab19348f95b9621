// SPDX-License-Identifier: Apache-2.0
package sparkext.removal;

import java.util.ConcurrentModificationException;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.delta.DeltaColumnMapping$;
import org.apache.spark.sql.delta.DeltaErrors;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.NoMapping$;
import org.apache.spark.sql.delta.OptimisticTransaction;
import org.apache.spark.sql.delta.RowTracking$;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.actions.Action;
import org.apache.spark.sql.delta.actions.CommitInfo;
import org.apache.spark.sql.delta.commands.columnmapping.RemoveColumnMappingCommand;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.Some;
import scala.collection.immutable.Map$;
import scala.jdk.javaapi.CollectionConverters;
import sparkext.common.UsageTrackingException;
import sparkext.delta.CommitActions;
import sparkext.delta.DeltaShims;
import sparkext.delta.DeltaShims.CommitFile;
import sparkext.parquet.Uninterrupted;

/**
 * The commit that removes column mapping, tried until it succeeds or the removal gives up.
 *
 * <p>With copies, the transaction reads the whole table, as Delta's does, so that it conflicts with
 * every concurrent change of a file. Otherwise an appended file would have no copy.
 */
final class RemovalCommit {
  private final SparkSession session;
  private final RemoveColumnMappingCommand command;
  private final boolean removesProperty;
  private final Set<String> tried = new HashSet<>();
  private long firstTried = Long.MAX_VALUE;
  private boolean mayBeInLog;
  private boolean isEarlierAttempt;
  private OptionalLong version = OptionalLong.empty();

  /**
   * @param removesProperty whether the property of the mode is removed, or set to {@code none}
   */
  RemovalCommit(SparkSession session, RemoveColumnMappingCommand command, boolean removesProperty) {
    this.session = session;
    this.command = command;
    this.removesProperty = removesProperty;
  }

  RemoveColumnMappingCommand command() {
    return command;
  }

  /** Starts a transaction on a version, and sets its metadata without column mapping. */
  OptimisticTransaction begin(Snapshot snapshot) {
    OptimisticTransaction transaction =
        log().startTransaction(command.catalogOpt(), new Some<>(snapshot));
    StructType schema = DeltaColumnMapping$.MODULE$.dropColumnMappingMetadata(snapshot.schema());
    command.verifySchemaFieldNames(schema);
    command.updateMetadata(removesProperty, transaction, schema);
    return transaction;
  }

  /** Returns whether a removal of column mapping would change the metadata of a version. */
  boolean changes(Snapshot snapshot) {
    return !snapshot.metadata().columnMappingMode().equals(NoMapping$.MODULE$)
        || !begin(snapshot).metadata().equals(snapshot.metadata());
  }

  /** Throws if Delta would refuse the commit, before any file is written. */
  void refuseEarly(Snapshot snapshot) {
    begin(snapshot).prepareCommit(scalaList(List.of()), new RemovalMetrics.RemovalOperation());
  }

  /** Tries a metadata-only commit on a version: concurrent appends need no copies. */
  Optional<ConcurrentModificationException> attempt(Snapshot snapshot) {
    return attempt(begin(snapshot), List.of(), new RemovalMetrics(/* rounds= */ 0));
  }

  /**
   * Tries a commit on a version.
   *
   * @param actions replace every file of the version that needs a copy
   * @return the conflict; empty if the commit succeeded
   */
  Optional<ConcurrentModificationException> attempt(
      Snapshot snapshot, List<Action> actions, RemovalMetrics counts) {
    OptimisticTransaction transaction = begin(snapshot);
    transaction.readWholeTable();
    return attempt(transaction, actions, counts);
  }

  private Optional<ConcurrentModificationException> attempt(
      OptimisticTransaction transaction, List<Action> actions, RemovalMetrics counts) {
    counts.register(session, transaction);
    tried.add(transaction.txnId());
    firstTried = Math.min(firstTried, transaction.snapshot().version() + 1);
    try {
      OptimisticTransaction.withActive(
          transaction,
          /* overrideExistingTransaction= */ false,
          () ->
              transaction.commit(
                  scalaList(actions),
                  new RemovalMetrics.RemovalOperation(),
                  RowTracking$.MODULE$.addPreservedRowTrackingTagIfNotSet(
                      transaction.snapshot(), Map$.MODULE$.empty())));
      return Optional.empty();
    } catch (ConcurrentModificationException conflict) {
      return isInLog(transaction, conflict) ? Optional.empty() : Optional.of(conflict);
    } catch (Throwable failure) {
      if (transaction.commitInfo() == null) {
        throw failure; // Delta sets commitInfo just before it writes the commit
      }
      boolean isInLog = isInLog(transaction, failure);
      if (!isInLog && CommitActions.isUnread(failure)) {
        // Delta cannot read the winning commit. The next attempt is based on that version.
        ConcurrentModificationException conflict =
            DeltaErrors.concurrentWriteException(Option.empty());
        conflict.addSuppressed(failure);
        return Optional.of(conflict);
      }
      // An interrupted wait of Delta writes nothing later. A storage that fails, also by its own
      // subclass of the exception, may write later.
      mayBeInLog = isInLog || failure.getClass() != InterruptedException.class;
      throw failure;
    }
  }

  /** Returns whether an attempt that failed may have written its commit. */
  boolean mayBeInLog() {
    return mayBeInLog;
  }

  /** Returns the version of an attempt that failed although the log contains its commit. */
  OptionalLong version() {
    return version;
  }

  /** Returns whether the log contains an earlier attempt instead of the last one. */
  boolean isEarlierAttempt() {
    return isEarlierAttempt;
  }

  /** Returns whether the log contains this attempt or an earlier one, although Delta failed. */
  private boolean isInLog(OptimisticTransaction transaction, Throwable failure) {
    boolean[] found = {false};
    Uninterrupted.run(() -> found[0] = findInLog(transaction, failure));
    return found[0];
  }

  private boolean findInLog(OptimisticTransaction transaction, Throwable failure) {
    try {
      for (CommitFile commit :
          DeltaShims.commits(log(), firstTried, command.catalogOpt(), /* failOnDataLoss= */ true)) {
        for (Action action :
            CommitActions.of(
                    commit.file().getPath(),
                    log().newDeltaHadoopConf(),
                    line -> line.contains("\"commitInfo\""))
                .actions()) {
          if (action instanceof CommitInfo info && info.txnId().exists(tried::contains)) {
            isEarlierAttempt = !info.txnId().contains(transaction.txnId());
            version = OptionalLong.of(commit.version());
            return true;
          }
        }
      }
      return false;
    } catch (Exception unknown) { // Scala declares no checked exceptions
      mayBeInLog = true;
      failure.addSuppressed(unknown);
      throw UsageTrackingException.sneakyThrow(failure);
    }
  }

  private DeltaLog log() {
    return command.deltaLog();
  }

  private static scala.collection.immutable.List<Action> scalaList(List<Action> actions) {
    return CollectionConverters.asScala(actions).toList();
  }
}
