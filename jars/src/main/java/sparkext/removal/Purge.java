// SPDX-License-Identifier: Apache-2.0
package sparkext.removal;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.delta.DeltaErrors;
import org.apache.spark.sql.delta.RowId$;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.actions.Action;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.actions.Metadata;
import org.apache.spark.sql.delta.commands.Bin;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.Option;
import sparkext.common.UsageTrackingException;
import sparkext.copy.CopyJob.CopyProgress;
import sparkext.files.CopiedActions;
import sparkext.files.CopyPlaces;
import sparkext.files.CopySetting;
import sparkext.files.FileJob;
import sparkext.files.FilePlan;
import sparkext.files.LiveFiles;
import sparkext.parquet.ColumnPlan;
import sparkext.parquet.DataFile;
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

  /** The actions that add copies, by the paths of their sources. */
  private final Map<String, AddFile> copies = new HashMap<>();

  /** A group for each copied file, which Delta commits with its own groups. */
  private List<Bin> groups = List.of();

  private final PurgeCommits commits;

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
    this.commits = new PurgeCommits(snapshot, catalogTable, places, copies.values());
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
    return LiveFiles.of(snapshot).stream().filter(file -> paths.contains(file.path())).toList();
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
      commits.add(copy);
      actions.add(copy);
    }
    files.forEach(file -> actions.add(CopiedActions.removed(file)));
    return actions;
  }

  /** Returns the commits of the copies. */
  PurgeCommits commits() {
    return commits;
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
      commits.fail();
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
    for (AddFile file : LiveFiles.of(other)) {
      AddFile copy = copies.get(file.path());
      if (copy != null
          && !(copy.baseRowId().equals(file.baseRowId())
              && copy.defaultRowCommitVersion().equals(file.defaultRowCommitVersion()))) {
        return false;
      }
    }
    return true;
  }
}
