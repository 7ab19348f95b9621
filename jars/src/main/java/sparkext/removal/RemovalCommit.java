// SPDX-License-Identifier: Apache-2.0
package sparkext.removal;

import java.util.ConcurrentModificationException;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import org.apache.hadoop.fs.FileStatus;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.delta.DeltaColumnMapping$;
import org.apache.spark.sql.delta.DeltaErrors;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.OptimisticTransaction;
import org.apache.spark.sql.delta.RowTracking$;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.actions.Action;
import org.apache.spark.sql.delta.actions.CommitInfo;
import org.apache.spark.sql.delta.commands.columnmapping.RemoveColumnMappingCommand;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.Some;
import scala.Tuple2;
import scala.collection.Iterator;
import scala.collection.immutable.Map$;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction0;
import sparkext.commit.CommitActions;
import sparkext.error.UsageTrackingException;
import sparkext.parquet.Uninterrupted;
import sparkext.shim.DeltaShims;

/**
 * The one commit of leaving, tried as often as it takes.
 *
 * <p>Its transaction has read the whole table, as Delta's has, and conflicts with every concurrent
 * change of a file: without that, an append would count as seen that nobody has copied.
 */
final class RemovalCommit {
  private final SparkSession session;
  private final RemoveColumnMappingCommand command;
  private final boolean removesProperty;
  private final Set<String> tried = new HashSet<>();
  private long firstTried = Long.MAX_VALUE;
  private boolean mayStand;
  private boolean isEarlier;
  private OptionalLong version = OptionalLong.empty();

  /**
   * @param removesProperty whether the mode's property goes, instead of being {@code none}
   */
  RemovalCommit(SparkSession session, RemoveColumnMappingCommand command, boolean removesProperty) {
    this.session = session;
    this.command = command;
    this.removesProperty = removesProperty;
  }

  RemoveColumnMappingCommand command() {
    return command;
  }

  /** A transaction on a version that has switched column mapping off. */
  OptimisticTransaction begin(Snapshot snapshot) {
    OptimisticTransaction transaction =
        log().startTransaction(command.catalogOpt(), new Some<>(snapshot));
    StructType schema = DeltaColumnMapping$.MODULE$.dropColumnMappingMetadata(snapshot.schema());
    command.verifySchemaFieldNames(schema);
    command.updateMetadata(removesProperty, transaction, schema);
    return transaction;
  }

  /** Throws what Delta would refuse of the commit, before any file is written for it. */
  void refuseEarly(Snapshot snapshot) {
    begin(snapshot).prepareCommit(scalaList(List.of()), new RemovalOperation());
  }

  /** Tries it on this version, where metadata alone suffices: what others append stays right. */
  Optional<ConcurrentModificationException> attempt(Snapshot snapshot) {
    return attempt(begin(snapshot), List.of(), RemovalMetrics.none());
  }

  /**
   * Tries it on this version, of which these actions have every file.
   *
   * @return the conflict by which it was overtaken; nothing where it was committed
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
          new AbstractFunction0<Void>() {
            @Override
            public Void apply() {
              transaction.commit(
                  scalaList(actions),
                  new RemovalOperation(),
                  RowTracking$.MODULE$.addPreservedRowTrackingTagIfNotSet(
                      transaction.snapshot(), Map$.MODULE$.empty()));
              return null;
            }
          });
      return Optional.empty();
    } catch (ConcurrentModificationException overtaken) {
      return isInLog(transaction, overtaken) ? Optional.empty() : Optional.of(overtaken);
    } catch (Throwable failure) {
      if (transaction.commitInfo() == null) {
        throw failure; // Delta sets it once all is prepared, just before it writes
      }
      boolean stands = isInLog(transaction, failure);
      if (!stands && CommitActions.isUnread(failure)) {
        // Delta cannot tell of a winner whether it conflicts. The next try is based on it.
        return Optional.of(unread(failure));
      }
      // Who is interrupted while Delta waits has written before, or never will; a storage that
      // fails may write later.
      mayStand = stands || !isInterrupt(failure);
      throw failure;
    }
  }

  private static ConcurrentModificationException unread(Throwable failure) {
    ConcurrentModificationException conflict = DeltaErrors.concurrentWriteException(Option.empty());
    conflict.addSuppressed(failure);
    return conflict;
  }

  /** Whether a try that failed may have written its log entry nevertheless. */
  boolean mayStand() {
    return mayStand;
  }

  /** Returns the version that a try that failed has in the log. */
  OptionalLong version() {
    return version;
  }

  /** Whether what was found in the log is not the last try, but one before it. */
  boolean isEarlier() {
    return isEarlier;
  }

  /** Whether a winner is this very commit, or a try before it, of which the answer was lost. */
  private boolean isInLog(OptimisticTransaction transaction, Throwable failure) {
    boolean[] found = {false};
    Uninterrupted.run(() -> found[0] = findInLog(transaction, failure));
    return found[0];
  }

  private boolean findInLog(OptimisticTransaction transaction, Throwable failure) {
    try {
      Iterator<Tuple2<Object, FileStatus>> commits =
          DeltaShims.getChangeLogFiles(
              log(), firstTried, command.catalogOpt(), /* failOnDataLoss= */ true);
      while (commits.hasNext()) {
        Tuple2<Object, FileStatus> commit = commits.next();
        for (Action action : informationOf(commit._2())) {
          if (action instanceof CommitInfo info && info.txnId().exists(tried::contains)) {
            isEarlier = !info.txnId().contains(transaction.txnId());
            version = OptionalLong.of((long) commit._1());
            return true;
          }
        }
      }
      return false;
    } catch (Exception unknown) { // Scala declares no checked exception: the storage's are some
      mayStand = true;
      failure.addSuppressed(unknown);
      throw UsageTrackingException.sneakyThrow(failure);
    }
  }

  private List<Action> informationOf(FileStatus commit) {
    return CommitActions.of(
            commit.getPath(), log().newDeltaHadoopConf(), line -> line.contains("\"commitInfo\""))
        .actions();
  }

  /** By Java's own exception: a storage that is interrupted has others. */
  private static boolean isInterrupt(Throwable failure) {
    return failure.getClass() == InterruptedException.class;
  }

  private DeltaLog log() {
    return command.deltaLog();
  }

  private static scala.collection.immutable.List<Action> scalaList(List<Action> actions) {
    return CollectionConverters.asScala(actions).toList();
  }
}
