// SPDX-License-Identifier: Apache-2.0
package sparkext.removal;

import java.util.ArrayList;
import java.util.Collections;
import java.util.ConcurrentModificationException;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.delta.DeltaErrors;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.DeltaOperations;
import org.apache.spark.sql.delta.RowId$;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.actions.Action;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.actions.Metadata;
import org.apache.spark.sql.delta.commands.Bin;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.Option;
import sparkext.common.FailedRead;
import sparkext.common.UsageTrackingErrors;
import sparkext.common.UsageTrackingException;
import sparkext.copy.CopyJob.CopyProgress;
import sparkext.delta.CommitActions;
import sparkext.delta.DeltaShims;
import sparkext.delta.DeltaShims.CommitFile;
import sparkext.files.CopiedActions;
import sparkext.files.CopyPlaces;
import sparkext.files.CopySetting;
import sparkext.files.FileJob;
import sparkext.files.FilePlan;
import sparkext.files.LiveTable;
import sparkext.parquet.ColumnPlan;
import sparkext.parquet.DataFile;
import sparkext.parquet.Uninterrupted;
import sparkext.wire.MetadataRules;

/**
 * The byte copies of one REORG TABLE .. APPLY (PURGE): files of a version without the column chunks
 * of dropped columns. Delta commits the copies, with other files, in one transaction or several.
 */
final class Purge {
  private static final Logger LOG = LoggerFactory.getLogger(Purge.class);

  private final SparkSession session;
  private final Snapshot snapshot;
  private final ColumnPlan columns;
  private final CopyPlaces places;
  private final FilePlan plan;

  private final Option<CatalogTable> catalogTable;

  /** The actions that add copies, by the paths of their sources. */
  private final Map<String, AddFile> copies = new HashMap<>();

  /** The paths of copies that Delta has received for a commit. */
  private final Set<String> given = ConcurrentHashMap.newKeySet();

  /** A group for each copied file, which Delta commits with its own groups. */
  private List<Bin> groups = List.of();

  /** True if Delta commits no further copies. */
  private volatile boolean hasFailed;

  /** True if Delta may have committed copies. */
  private volatile boolean mayBeCommitted;

  private Purge(
      SparkSession session,
      Snapshot snapshot,
      Option<CatalogTable> catalogTable,
      ColumnPlan columns) {
    this.session = session;
    this.snapshot = snapshot;
    this.columns = columns;
    this.places = new CopyPlaces(snapshot);
    this.plan = FilePlan.ofPurge(columns, snapshot, places);
    this.catalogTable = catalogTable;
  }

  /**
   * Plans the purge of a table; empty if Delta must rewrite the files.
   *
   * @param executor as for {@link PurgeCommand#begin}
   * @throws UsageTrackingException USAGE_TRACKING_INVALID_SETTING; a failure of the rules
   */
  static Optional<Purge> of(Object[] executor) {
    CopySetting setting = CopySetting.ofPurge((SparkSession) executor[1]);
    return setting.copies(((Snapshot) executor[2]).protocol())
        ? withoutSetting(executor)
        : Optional.empty();
  }

  /** Plans the purge of a table with column mapping, also if Delta must rewrite the files. */
  @SuppressWarnings("unchecked")
  static Optional<Purge> withoutSetting(Object[] executor) {
    Snapshot snapshot = (Snapshot) executor[2];
    return MetadataRules.purge(snapshot.metadata())
        .map(
            plan ->
                new Purge(
                    (SparkSession) executor[1],
                    snapshot,
                    (Option<CatalogTable>) executor[3],
                    plan));
  }

  /**
   * Throws if a file cannot be read.
   *
   * @throws UsageTrackingException USAGE_TRACKING_UNREADABLE_DATA_FILE
   */
  void requireReadable(Set<String> paths) {
    requireReadable(job().look(files(paths), "reads up to " + paths.size() + " footers"));
  }

  private static void requireReadable(List<FileJob.TaskResult> results) {
    for (FileJob.TaskResult result : results) {
      if (result.result().way() == DataFile.Way.UNREADABLE) {
        throw result.unreadable().sneakyThrow();
      }
    }
  }

  /** Returns files with statistics, which the files that Delta passes lack. */
  private List<AddFile> files(Set<String> paths) {
    return LiveTable.files(snapshot).stream().filter(file -> paths.contains(file.path())).toList();
  }

  private FileJob job() {
    return new FileJob(session, plan);
  }

  /**
   * Copies the files that can be copied. If that fails, all copies are removed.
   *
   * @throws UsageTrackingException USAGE_TRACKING_UNREADABLE_DATA_FILE, also for a deletion vector
   *     of a file that is not copied: Delta might commit other files before it fails to read that
   */
  void copy(Set<String> paths) {
    try {
      List<FileJob.TaskResult> results =
          job()
              .copy(
                  files(paths),
                  /* firstNumber= */ 0,
                  "purges up to " + paths.size() + " files",
                  CopyProgress.in(session.sparkContext()));
      requireReadable(results);
      for (FileJob.TaskResult done : results) {
        AddFile file = done.decision().file();
        if (done.result().way() == DataFile.Way.COPIED) {
          copies.put(
              file.path(), CopiedActions.added(done.decision(), done.result(), places.paths()));
        } else {
          LOG.info(
              "Delta rewrites {}: {} {}", file.path(), done.result().way(), done.result().reason());
        }
      }
    } catch (Throwable failure) {
      places.removeAll(Set.of());
      throw UsageTrackingException.sneakyThrow(failure);
    } finally {
      places.abortUploads();
    }
  }

  boolean isCopied(AddFile file) {
    return copies.containsKey(file.path());
  }

  boolean hasNoCopies() {
    return copies.isEmpty();
  }

  /** Returns the groups once: Delta would commit a copy twice if it got them again. */
  List<Bin> takeGroups() {
    List<Bin> taken = groups;
    groups = List.of();
    return taken;
  }

  void setGroups(List<Bin> groups) {
    this.groups = groups;
  }

  /** Returns the actions that replace files by their copies. */
  List<Action> actions(List<AddFile> files) {
    List<Action> actions = new ArrayList<>();
    for (AddFile file : files) {
      AddFile copy = copies.get(file.path());
      given.add(copy.path());
      actions.add(copy);
    }
    files.forEach(file -> actions.add(CopiedActions.removed(file)));
    return actions;
  }

  /** Notes that Delta begins a commit. */
  void beginCommit() {
    mayBeCommitted = true;
  }

  /** Notes that Delta commits no further copies. */
  void fail() {
    hasFailed = true;
  }

  /**
   * Returns whether a commit may be tried on a later version. If the row ids differ, returns false,
   * so that Delta gives up as for a file that was removed.
   *
   * @throws org.apache.spark.sql.delta.DeltaAnalysisException if the version has a column that the
   *     copies lack
   */
  boolean mayBeTriedOn(Snapshot now) {
    try {
      if (!hasColumnsOf(now)) {
        throw UsageTrackingException.sneakyThrow(
            DeltaErrors.schemaChangedSinceAnalysis(
                snapshot.schema(), now.schema(), /* mentionLegacyFlag= */ false));
      }
      return hasRowIdsOf(now);
    } catch (Throwable refusal) {
      fail();
      throw refusal;
    }
  }

  /** Returns false if RESTORE has restored a column, because the copies lack its values. */
  private boolean hasColumnsOf(Snapshot other) {
    Metadata now = other.metadata();
    if (now.equals(snapshot.metadata())) {
      return true;
    }
    Optional<ColumnPlan> current = MetadataRules.purge(now);
    return current.isPresent() && columns.containsAllOf(current.get(), plan.maxColumnId());
  }

  /**
   * Returns whether the sources have the row ids that the copies have. They have others if the
   * feature was dropped and added again.
   */
  private boolean hasRowIdsOf(Snapshot other) {
    if (!RowId$.MODULE$.isSupported(snapshot.protocol())
        && !RowId$.MODULE$.isSupported(other.protocol())) {
      return true;
    }
    for (AddFile file : LiveTable.files(other)) {
      AddFile copy = copies.get(file.path());
      if (copy != null
          && !(copy.baseRowId().equals(file.baseRowId())
              && copy.defaultRowCommitVersion().equals(file.defaultRowCommitVersion()))) {
        return false;
      }
    }
    return true;
  }

  /**
   * Removes copies that no commit contains, after the statement has failed.
   *
   * @return the failure; USAGE_TRACKING_UNREADABLE_DATA_FILE if Delta could not read a file before
   *     its first commit; USAGE_TRACKING_FAILED_AFTER_COMMIT if Delta has committed every copy that
   *     it received, unless after {@link #fail} or a conflict
   */
  Throwable end(Throwable failure) {
    Throwable[] described = {failure};
    Uninterrupted.run(
        () -> {
          try {
            described[0] = endAfter(failure);
          } catch (Exception unknown) { // Scala declares no checked exceptions
            failure.addSuppressed(unknown);
            warnOfKeptCopies();
          }
        });
    return described[0];
  }

  private Throwable endAfter(Throwable failure) {
    if (!mayBeCommitted) {
      places.removeAll(Set.of());
      return FailedRead.described(failure);
    }
    // A storage that failed may write its log entry later. After a conflict no entry is written,
    // but an entry whose response was lost may exist.
    boolean isOver = hasFailed || failure instanceof ConcurrentModificationException;
    Map<String, Long> committed = committed();
    if (!isOver && !committed.isEmpty() && committed.keySet().containsAll(given)) {
      return UsageTrackingErrors.failedAfterCommit(
          DeltaOperations.REORG_OPERATION_NAME(),
          places.paths().table().toString(),
          Collections.max(committed.values()),
          failure);
    }
    if (!isOver) {
      warnOfKeptCopies();
      return failure;
    }
    Set<String> unused = new HashSet<>();
    copies.values().forEach(copy -> unused.add(copy.path()));
    unused.removeAll(committed.keySet());
    places.remove(unused);
    return failure;
  }

  private static void warnOfKeptCopies() {
    LOG.warn("Copies remain until VACUUM, because a commit in the log may contain them");
  }

  /** Returns the versions that added copies. There may be several if Delta commits in batches. */
  private Map<String, Long> committed() {
    Map<String, Long> committed = new HashMap<>();
    DeltaLog log = snapshot.deltaLog();
    for (CommitFile commit :
        DeltaShims.commits(log, snapshot.version() + 1, catalogTable, /* failOnDataLoss= */ true)) {
      for (Action action :
          CommitActions.of(commit.file().getPath(), log.newDeltaHadoopConf()).actions()) {
        if (action instanceof AddFile file && given.contains(file.path())) {
          committed.put(file.path(), commit.version());
        }
      }
    }
    return committed;
  }
}
