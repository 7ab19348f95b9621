// SPDX-License-Identifier: Apache-2.0
package sparkext.removal;

import java.io.IOException;
import java.time.Duration;
import java.util.ConcurrentModificationException;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.spark.SparkThrowable;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.delta.DeltaErrors;
import org.apache.spark.sql.delta.NoMapping$;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.actions.Action;
import org.apache.spark.sql.delta.actions.Action$;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.actions.Metadata;
import org.apache.spark.sql.delta.commands.columnmapping.RemoveColumnMappingCommand;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import sparkext.common.Setting;
import sparkext.common.UsageTrackingErrors;
import sparkext.common.UsageTrackingException;
import sparkext.files.CopyPlaces;
import sparkext.files.CopySetting;
import sparkext.files.LiveTable;
import sparkext.removal.Copies.RoundFailures;
import sparkext.wire.MetadataRules;
import sparkext.wire.PlanJson.AllowedRemoval;

/**
 * Removes column mapping beside other writers. Each round copies the files of the newest version
 * that have no copy yet. If every file has a copy, the removal commits. After a conflict the next
 * round reuses the copies.
 */
final class RemovalRounds {
  private static final Logger LOG = LoggerFactory.getLogger(RemovalRounds.class);

  private final CopySetting setting;
  private final RemovalTimeout timeout;
  private final RemovalCommit commit;
  private final LiveTable table;
  private final RemovalProgress progress;
  private final Copies copies;
  private Optional<AllowedRemoval> allowed;
  private boolean isCommitted;
  private int numRounds;
  private int numAttempts;
  private long followedAt = System.nanoTime();

  RemovalRounds(SparkSession session, RemoveColumnMappingCommand command, boolean removesProperty) {
    this.setting = CopySetting.ofRemoval(session);
    this.timeout = new RemovalTimeout(session);
    this.commit = new RemovalCommit(session, command, removesProperty);
    this.table = new LiveTable(command.deltaLog(), command.catalogOpt());
    this.progress = new RemovalProgress(session);
    this.copies = new Copies(session, new CopyPlaces(table.snapshot()), commit, progress);
  }

  /**
   * Removes column mapping in one commit. If that fails, all written files are removed, unless the
   * log may contain the commit. If the table has no column mapping, nothing is committed.
   *
   * @return whether the table has no column mapping now; if not, written files are removed, and
   *     Delta must rewrite the table
   * @throws UsageTrackingException USAGE_TRACKING_REMOVAL_CONFLICT;
   *     USAGE_TRACKING_UNREADABLE_DATA_FILE; USAGE_TRACKING_COPY_FAILED;
   *     USAGE_TRACKING_STORAGE_FAILED; USAGE_TRACKING_COMMIT_STATUS_UNKNOWN;
   *     USAGE_TRACKING_FAILED_AFTER_COMMIT; a failure of the rules
   */
  boolean run() {
    if (setting.copies(table.snapshot().protocol()) && !commit.changes(table.snapshot())) {
      return true;
    }
    try (progress) {
      plan();
      while (allowed.isPresent() && !isCommitted) {
        if (complete()) {
          tryCommit();
        }
      }
    } catch (Throwable failure) {
      if (commit.version().isPresent()) {
        LOG.warn("Failed after the commit: unused copies remain until VACUUM");
      } else if (commit.mayBeInLog()) {
        LOG.warn("New files remain until VACUUM, because a commit in the log may contain them");
      } else {
        copies.removeAll();
      }
      throw UsageTrackingException.sneakyThrow(described(failure));
    } finally {
      copies.abortUploads();
    }
    if (!isCommitted) {
      copies.removeAll();
    } else if (!commit.isEarlierAttempt() && !copies.isEmpty()) {
      copies.sweep(table.files());
    }
    return isCommitted;
  }

  /**
   * Returns the error of the statement for a failure. After the commit, this is
   * USAGE_TRACKING_FAILED_AFTER_COMMIT; other failures with a condition are unchanged.
   */
  private Throwable described(Throwable failure) {
    if (commit.version().isPresent()) {
      return UsageTrackingErrors.failedAfterCommit(
          new RemovalMetrics.RemovalOperation().name(),
          table.path(),
          commit.version().getAsLong(),
          failure);
    }
    if (failure instanceof SparkThrowable known && known.getCondition() != null) {
      return failure;
    }
    if (commit.mayBeInLog()) {
      return UsageTrackingErrors.commitUnknown(
          table.path(), table.snapshot().version() + 1, failure);
    }
    return failure instanceof IOException storage
        ? UsageTrackingErrors.storageFailed(table.path(), storage)
        : failure;
  }

  /** Returns how a table may remove column mapping; empty if Delta must rewrite the files. */
  static Optional<AllowedRemoval> allowed(CopySetting setting, Snapshot snapshot) {
    boolean copies = setting.copies(snapshot.protocol());
    AllowedRemoval removal =
        MetadataRules.removal(snapshot.protocol(), snapshot.metadata(), copies);
    return Optional.of(removal)
        .filter(found -> copies && (found.isFree() || found.plan().isPresent()));
  }

  /** Decides by the rules how column mapping may be removed from the current version. */
  private void plan() {
    Snapshot snapshot = table.snapshot();
    allowed = allowed(setting, snapshot);
    if (needsCopies()) {
      commit.refuseEarly(snapshot);
      copies.replacePlan(allowed.get().plan().get(), snapshot);
    }
  }

  private boolean needsCopies() {
    return allowed.isPresent() && !allowed.get().isFree();
  }

  /**
   * Returns whether every live file has a copy. If not, makes copies and reads the next version.
   */
  private boolean complete() {
    if (!needsCopies()) {
      return true;
    }
    List<AddFile> missing = copies.missing(table.files());
    if (missing.isEmpty()) {
      return true;
    }
    numRounds++;
    FirstCommit.prepare();
    RoundFailures failures = copies.make(missing, table.snapshot(), numRounds);
    timeout.run();
    follow();
    if (isCommitted) {
      return false;
    }
    failures.throwIfLive(table.files());
    if (timeout.isOver() && needsCopies() && !copies.missing(table.files()).isEmpty()) {
      throw conflict(failures.failure());
    }
    return false;
  }

  private void tryCommit() {
    numAttempts++;
    Optional<ConcurrentModificationException> conflict = attempt();
    if (conflict.isEmpty()) {
      long milliseconds = Duration.ofNanos(System.nanoTime() - followedAt).toMillis();
      LOG.info("Committed {} ms after reading the newest version", milliseconds);
      isCommitted = true;
      return;
    }
    timeout.run();
    LOG.info("Conflict in round {}: {}", numRounds, conflict.get().getMessage());
    follow();
    if (timeout.isOver() && !isCommitted) {
      throw conflict(conflict.get());
    }
  }

  private Optional<ConcurrentModificationException> attempt() {
    if (!needsCopies()) {
      return commit.attempt(table.snapshot());
    }
    RemovalMetrics counts = new RemovalMetrics(numRounds);
    List<Action> actions = copies.actions(table, counts);
    return commit.attempt(table.snapshot(), actions, counts);
  }

  /** Reads the newest version, which must be of the same table with column mapping. */
  private void follow() {
    Snapshot before = table.snapshot();
    if (needsCopies()) {
      // This takes time, so it is done before reading the version. VACUUM may not be in the log.
      copies.discardDeleted();
    }
    followedAt = System.nanoTime();
    table.follow();
    Metadata metadata = table.snapshot().metadata();
    if (!metadata.id().equals(before.metadata().id())
        || metadata.columnMappingMode().equals(NoMapping$.MODULE$)) {
      end(before);
      return;
    }
    if (needsCopies() && table.wasVacuumed()) {
      copies.discardDeleted();
    }
    if (!metadata.equals(before.metadata())
        || !table.snapshot().protocol().equals(before.protocol())) {
      plan();
    }
  }

  /** Handles a replaced table, and a removal by another writer or an earlier attempt. */
  private void end(Snapshot before) {
    Snapshot now = table.snapshot();
    if (now.version() <= before.version() || !table.hasNewMetadata()) {
      throw UsageTrackingException.sneakyThrow(
          DeltaErrors.schemaChangedSinceAnalysis(
              before.schema(), now.schema(), /* mentionLegacyFlag= */ false));
    }
    // Delta always reports a conflict here, because a change of metadata conflicts with any commit.
    commit
        .attempt(before)
        .ifPresent(
            conflict -> {
              throw UsageTrackingException.sneakyThrow(conflict);
            });
    isCommitted = true;
  }

  private RuntimeException conflict(Throwable cause) {
    LiveTable.LastCommit last = table.last();
    return UsageTrackingErrors.removalConflict(
            timeout.toString(), numRounds, numAttempts, last.version(), last.operation(), cause)
        .sneakyThrow();
  }

  /**
   * Prepares the first commit of a JVM while files are copied. Every commit needs the schema of
   * Delta's actions for its checksum, and Delta takes up to half a second to make the schema once.
   *
   * <p>Source: Delta 4.4.0, actions.scala, {@code Action.logSchema}; Checksum.scala, {@code
   * incrementallyDeriveChecksum}.
   */
  static final class FirstCommit {
    private static final AtomicBoolean IS_PREPARED = new AtomicBoolean();

    private FirstCommit() {}

    /** Starts the preparation at the first call. The commit reports any failure of it. */
    static void prepare() {
      if (IS_PREPARED.compareAndSet(false, true)) {
        Thread thread = new Thread(Action$.MODULE$::logSchema, "spark-ext-first-commit");
        thread.setDaemon(true);
        thread.start();
      }
    }
  }

  /** The timer of a removal, which starts after the first round, or else at the first conflict. */
  static final class RemovalTimeout {
    private static final Setting SETTING =
        new Setting("spark.sparkext.columnMapping.removal.timeout");

    private final String text;
    private final long nanos;
    private long start;
    private boolean isRunning;

    /**
     * Reads the timeout of a session.
     *
     * @throws sparkext.common.UsageTrackingException USAGE_TRACKING_INVALID_SETTING
     */
    RemovalTimeout(SparkSession session) {
      text = SETTING.of(session).orElseThrow();
      // At most 292 years.
      nanos = TimeUnit.MILLISECONDS.toNanos(SETTING.millis(session));
    }

    /** Starts the timer, unless it is already running. */
    void run() {
      if (!isRunning) {
        start = System.nanoTime();
        isRunning = true;
      }
    }

    boolean isOver() {
      return isRunning && System.nanoTime() - start >= nanos;
    }

    @Override
    public String toString() {
      return text;
    }
  }
}
