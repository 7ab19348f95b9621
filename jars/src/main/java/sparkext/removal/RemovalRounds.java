// SPDX-License-Identifier: Apache-2.0
package sparkext.removal;

import java.io.IOException;
import java.time.Duration;
import java.util.ConcurrentModificationException;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import org.apache.spark.SparkThrowable;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.delta.DeltaErrors;
import org.apache.spark.sql.delta.NoMapping$;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.actions.Action;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.actions.Metadata;
import org.apache.spark.sql.delta.commands.columnmapping.RemoveColumnMappingCommand;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import sparkext.error.Setting;
import sparkext.error.UsageTrackingErrors;
import sparkext.error.UsageTrackingException;
import sparkext.files.CopySetting;
import sparkext.files.FileJob;
import sparkext.files.FilePlaces;
import sparkext.wire.AllowedRemoval;
import sparkext.wire.MetadataRules;

/**
 * Leaves column mapping beside other writers: it copies what the newest version has, looks again,
 * copies what has come since, and commits when nothing is left. Overtaken, it goes on with what it
 * has.
 */
final class RemovalRounds {
  private static final Logger LOG = LoggerFactory.getLogger(RemovalRounds.class);

  private final CopySetting setting;
  private final RemovalTimeout timeout;
  private final RemovalCommit commit;
  private final IncrementalSnapshot table;
  private final RemovalProgress progress;
  private final Copies copies;
  private Optional<AllowedRemoval> allowed;
  private boolean isCommitted;
  private int numRounds;
  private int numAttempts;
  private long lookedAt = System.nanoTime();

  RemovalRounds(SparkSession session, RemoveColumnMappingCommand command, boolean removesProperty) {
    this.setting = CopySetting.of(session, Setting.REMOVAL);
    this.timeout = new RemovalTimeout(session);
    this.commit = new RemovalCommit(session, command, removesProperty);
    this.table = new IncrementalSnapshot(command.deltaLog(), command.catalogOpt());
    this.progress = new RemovalProgress(session);
    this.copies =
        new Copies(
            session,
            command.deltaLog().newDeltaHadoopConf(),
            new FilePlaces(command.deltaLog().dataPath(), table.snapshot().metadata()),
            new Rewrites(session, commit),
            progress);
  }

  /**
   * Removes column mapping in one commit. Where that fails, what was written is removed.
   *
   * @return whether it was committed; if not, nothing was written and Delta's rewrite has to do it
   * @throws UsageTrackingException USAGE_TRACKING_REMOVAL_CONFLICT;
   *     USAGE_TRACKING_UNREADABLE_DATA_FILE; USAGE_TRACKING_COPY_FAILED;
   *     USAGE_TRACKING_STORAGE_FAILED; USAGE_TRACKING_COMMIT_STATUS_UNKNOWN;
   *     USAGE_TRACKING_FAILED_AFTER_COMMIT; a failure of the rules
   */
  boolean run() {
    try (progress) {
      ask();
      while (allowed.isPresent() && !isCommitted) {
        if (isComplete()) {
          tryCommit();
        }
      }
    } catch (Throwable failure) {
      if (commit.version().isPresent()) {
        LOG.warn("Committed, and failed afterwards: copies of no use stay until VACUUM");
      } else if (commit.mayStand()) {
        LOG.warn("New files stay until VACUUM, for their commit may stand in the log");
      } else {
        copies.removeAll();
      }
      throw UsageTrackingException.sneakyThrow(described(failure));
    } finally {
      copies.abortUploads();
    }
    if (!isCommitted) {
      copies.removeAll();
    } else if (!commit.isEarlier() && copies.areAny()) {
      copies.sweep(table.files());
    }
    return isCommitted;
  }

  /** With a condition, if it has none. */
  private Throwable described(Throwable failure) {
    if (commit.version().isPresent()) {
      return UsageTrackingErrors.failedAfterCommit(
          new RemovalOperation().name(), table.path(), commit.version().getAsLong(), failure);
    }
    if (failure instanceof SparkThrowable known && known.getCondition() != null) {
      return failure;
    }
    if (commit.mayStand()) {
      return UsageTrackingErrors.commitUnknown(
          table.path(), table.snapshot().version() + 1, failure);
    }
    return failure instanceof IOException storage
        ? UsageTrackingErrors.storageFailed(table.path(), storage)
        : failure;
  }

  /** Returns how a table may remove column mapping; empty if Delta has to rewrite its files. */
  static Optional<AllowedRemoval> allowed(CopySetting setting, Snapshot snapshot) {
    if (!setting.copies(snapshot.protocol())) {
      return Optional.empty();
    }
    AllowedRemoval removal = MetadataRules.removal(snapshot.protocol(), snapshot.metadata());
    return Optional.of(removal).filter(found -> found.isFree() || found.plan().isPresent());
  }

  /** How column mapping may be removed from the version that was followed. */
  private void ask() {
    Snapshot snapshot = table.snapshot();
    allowed = allowed(setting, snapshot);
    if (needsCopies()) {
      commit.refuseEarly(snapshot);
      copies.follow(allowed.get().plan().get(), snapshot);
    }
  }

  private boolean needsCopies() {
    return allowed.isPresent() && !allowed.get().isFree();
  }

  /** Whether every file of the followed version has its copy; if not, some were made. */
  private boolean isComplete() {
    if (!needsCopies()) {
      return true;
    }
    List<AddFile> missing = copies.missing(table.files());
    if (missing.isEmpty()) {
      return true;
    }
    numRounds++;
    FirstCommit.prepare();
    Copies.Troubles troubles = copies.make(missing, table.snapshot(), numRounds);
    timeout.run();
    follow();
    if (isCommitted) {
      return false;
    }
    refuse(troubles);
    if (timeout.isOver() && needsCopies() && !copies.missing(table.files()).isEmpty()) {
      throw overtaken(null);
    }
    return false;
  }

  /**
   * Throws what was wrong with a file, unless it is live no more or has another deletion vector:
   * then it, or its vector of before, may be gone.
   */
  private void refuse(Copies.Troubles troubles) {
    if (troubles.areNone()) {
      return;
    }
    Set<String> live = new HashSet<>();
    for (AddFile file : table.files()) {
      live.add(file.path());
      FileJob.TaskResult unreadable = troubles.unreadable().get(file.path());
      if (unreadable != null
          && Objects.equals(unreadable.looked().file().deletionVector(), file.deletionVector())) {
        throw unreadable.refusal().sneakyThrow();
      }
    }
    if (troubles.failure() != null && live.containsAll(troubles.notRewritten())) {
      throw UsageTrackingException.sneakyThrow(troubles.failure());
    }
  }

  private void tryCommit() {
    numAttempts++;
    Optional<ConcurrentModificationException> overtaken = attempt();
    if (overtaken.isEmpty()) {
      long milliseconds = Duration.ofNanos(System.nanoTime() - lookedAt).toMillis();
      LOG.info("Committed {} ms after the last look at the table", milliseconds);
      isCommitted = true;
      return;
    }
    timeout.run();
    LOG.info("Overtaken in round {}: {}", numRounds, overtaken.get().getMessage());
    follow();
    if (timeout.isOver() && !isCommitted) {
      throw overtaken(overtaken.get());
    }
  }

  private Optional<ConcurrentModificationException> attempt() {
    if (!needsCopies()) {
      return commit.attempt(table.snapshot());
    }
    RemovalMetrics counts = RemovalMetrics.none();
    counts.rounds(numRounds);
    List<Action> actions = copies.actions(table, counts);
    return commit.attempt(table.snapshot(), actions, counts);
  }

  /** Goes on to the newest version, if it is one of the same table that still has mapping on. */
  private void follow() {
    Snapshot before = table.snapshot();
    if (needsCopies()) {
      // Before the look, since it takes its time; not every storage has VACUUM in the log.
      copies.forgetLost();
    }
    lookedAt = System.nanoTime();
    table.follow();
    Metadata metadata = table.snapshot().metadata();
    if (!metadata.id().equals(before.metadata().id())
        || metadata.columnMappingMode().equals(NoMapping$.MODULE$)) {
      end(before);
      return;
    }
    if (needsCopies() && table.wasVacuumed()) {
      copies.forgetLost();
    }
    if (!metadata.equals(before.metadata())
        || !table.snapshot().protocol().equals(before.protocol())) {
      ask();
    }
  }

  /** Where the table is another one now, or was left: by somebody else, or by an earlier try. */
  private void end(Snapshot before) {
    Snapshot now = table.snapshot();
    if (now.version() <= before.version() || !table.hasNewMetadata()) {
      throw UsageTrackingException.sneakyThrow(
          DeltaErrors.schemaChangedSinceAnalysis(
              before.schema(), now.schema(), /* mentionLegacyFlag= */ false));
    }
    // Delta has the words for it, and cannot but say them: metadata conflicts with all.
    commit
        .attempt(before)
        .ifPresent(
            conflict -> {
              throw UsageTrackingException.sneakyThrow(conflict);
            });
    isCommitted = true;
  }

  private RuntimeException overtaken(Throwable cause) {
    IncrementalSnapshot.Commit last = table.last();
    return UsageTrackingErrors.removalConflict(
            timeout.toString(), numRounds, numAttempts, last.version(), last.operation(), cause)
        .sneakyThrow();
  }
}
