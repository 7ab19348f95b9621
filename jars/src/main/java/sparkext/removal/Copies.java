// SPDX-License-Identifier: Apache-2.0
package sparkext.removal;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.SparkThrowable;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.actions.Action;
import org.apache.spark.sql.delta.actions.AddFile;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.jdk.javaapi.CollectionConverters;
import sparkext.copy.FileResult;
import sparkext.error.UsageTrackingException;
import sparkext.files.CopiedActions;
import sparkext.files.FileJob;
import sparkext.files.FilePlaces;
import sparkext.files.FilePlan;
import sparkext.parquet.ColumnPlan;

/**
 * The files of a table under their new names, as far as they have been made: what is right stays
 * from one version of the table to the next.
 *
 * <p>A copy has the rows of its source in their order, so whatever the log says of the source by
 * then, such as a deletion vector, is right for the copy. What Delta has rewritten is right for the
 * very rows that it read.
 */
final class Copies {
  private static final Logger LOG = LoggerFactory.getLogger(Copies.class);

  private static final String CANCELLED = "SPARK_JOB_CANCELLED";

  private final SparkSession session;
  private final Configuration configuration;
  private final FilePlaces places;
  private final Rewrites rewrites;
  private final RemovalProgress progress;

  /** By the path of the source, also of files that are live no more: RESTORE brings some back. */
  private final Map<String, CopiedFile> made = new HashMap<>();

  /** What was made for nothing, by its path in the log, with its size. */
  private final Map<String, Long> discarded = new LinkedHashMap<>();

  private FilePlan plan;
  private int numFiles;

  Copies(
      SparkSession session,
      Configuration configuration,
      FilePlaces places,
      Rewrites rewrites,
      RemovalProgress progress) {
    this.session = session;
    this.configuration = configuration;
    this.places = places;
    this.rewrites = rewrites;
    this.progress = progress;
  }

  /** Goes by this plan from now on. What was made by another one stays, if it is right by this. */
  void follow(ColumnPlan columns, Snapshot snapshot) {
    FilePlan next = files(columns, snapshot, places);
    if (plan != null && !next.continues(plan)) {
      forgetIf(known -> true);
    } else if (plan != null && next.tracksRows() != plan.tracksRows()) {
      forgetIf(known -> known.rewrite() != null); // has the rows without their ids
    }
    plan = next;
  }

  /** What becomes of a table's files without column mapping. */
  static FilePlan files(ColumnPlan columns, Snapshot snapshot, FilePlaces places) {
    return new FilePlan(
        columns,
        snapshot,
        CollectionConverters.asJava(snapshot.metadata().partitionColumns()),
        places,
        /* isPurge= */ false);
  }

  /** The live files that nothing is made of yet, or nothing that is right for them by now. */
  List<AddFile> missing(Collection<AddFile> live) {
    List<AddFile> missing = new ArrayList<>();
    for (AddFile file : live) {
      CopiedFile known = made.get(file.path());
      if (known == null || !(known.isOf(file) || isUpdated(known, file))) {
        missing.add(file);
      }
    }
    missing.addAll(brokenRewrites(live));
    return missing;
  }

  /** Whether what was made of a file is right, by all that the log says of it now. */
  private boolean isUpdated(CopiedFile known, AddFile file) {
    FilePlan.FileDecision looked = plan.look(file);
    CopiedFile updated = known.isRightFor(looked) ? known.updated(looked, places) : null;
    if (updated == null) {
      made.remove(file.path());
    } else {
      made.put(file.path(), updated);
    }
    known
        .files()
        .forEach(
            (path, size) -> {
              if (updated == null || !updated.files().containsKey(path)) {
                discarded.put(path, size);
              }
            });
    return updated != null;
  }

  /** Live files whose rows were written together with those of files that are so no more. */
  private List<AddFile> brokenRewrites(Collection<AddFile> live) {
    Map<Rewrites.Rewrite, List<AddFile>> found = new LinkedHashMap<>();
    for (AddFile file : live) {
      CopiedFile known = made.get(file.path());
      if (known != null && known.rewrite() != null) {
        found.computeIfAbsent(known.rewrite(), rewrite -> new ArrayList<>()).add(file);
      }
    }
    List<AddFile> missing = new ArrayList<>();
    found.forEach(
        (rewrite, sources) -> {
          if (sources.size() < rewrite.numSources()) {
            sources.forEach(file -> made.remove(file.path()));
            discarded.putAll(rewrite.files());
            missing.addAll(sources);
          }
        });
    return missing;
  }

  /**
   * What could not be made.
   *
   * @param unreadable files, by their paths in the log
   * @param notRewritten the files of which Delta failed to write the rows; by their paths
   * @param failure with which it did; null otherwise
   */
  record Troubles(
      Map<String, FileJob.TaskResult> unreadable, Set<String> notRewritten, Exception failure) {
    boolean areNone() {
      return unreadable.isEmpty() && failure == null;
    }
  }

  /**
   * Makes what is missing.
   *
   * @param round how often there was something to do, with this
   */
  Troubles make(List<AddFile> missing, Snapshot snapshot, int round) {
    int first = numFiles;
    numFiles += missing.size();
    long size = missing.stream().mapToLong(AddFile::size).sum();
    String doing =
        "round " + round + ", copies up to " + missing.size() + " files, " + size + " bytes";
    Map<String, FileJob.TaskResult> unreadable = new LinkedHashMap<>();
    List<FilePlan.FileDecision> toRewrite = new ArrayList<>();
    for (FileJob.TaskResult done :
        job()
            .run(
                missing,
                (number, values) -> places.target(first + number, values),
                doing,
                progress.begin(round, missing.size(), size))) {
      AddFile file = done.looked().file();
      FileResult result = done.result();
      switch (result.way()) {
        case UNREADABLE -> unreadable.put(file.path(), done);
        case TO_REWRITE -> {
          LOG.info("{} is rewritten: {}", file.path(), result.reason());
          toRewrite.add(done.looked());
        }
        default -> made.put(file.path(), CopiedFile.of(done.looked(), result, places));
      }
    }
    try {
      rewrite(toRewrite, snapshot);
      return new Troubles(unreadable, Set.of(), null);
    } catch (Exception failure) { // Scala declares none: Spark's own is a checked one
      if (isCancelled(failure)) {
        throw UsageTrackingException.sneakyThrow(failure);
      }
      Set<String> paths = new HashSet<>();
      toRewrite.forEach(looked -> paths.add(looked.file().path()));
      return new Troubles(unreadable, paths, failure);
    }
  }

  private static boolean isCancelled(Exception failure) {
    return failure instanceof InterruptedException
        || failure instanceof SparkThrowable known && CANCELLED.equals(known.getCondition());
  }

  private void rewrite(List<FilePlan.FileDecision> toRewrite, Snapshot snapshot) {
    if (toRewrite.isEmpty()) {
      return;
    }
    Rewrites.Rewrite rewrite =
        rewrites.write(toRewrite.stream().map(FilePlan.FileDecision::file).toList(), snapshot);
    for (FilePlan.FileDecision looked : toRewrite) {
      made.put(looked.file().path(), CopiedFile.rewritten(looked, rewrite));
    }
  }

  /** Forgets what is gone from the storage, such as by VACUUM. */
  void forgetLost() {
    Map<String, Long> stored = places.copies(configuration);
    Map<Rewrites.Rewrite, Boolean> rewritten = new HashMap<>();
    forgetIf(
        known ->
            known.rewrite() != null
                ? !rewritten.computeIfAbsent(
                    known.rewrite(), it -> places.haveAll(it.written(), configuration))
                : !known.isStored(stored));
  }

  private void forgetIf(Predicate<CopiedFile> isWrong) {
    made.values()
        .removeIf(
            known -> {
              boolean goes = isWrong.test(known);
              if (goes) {
                discarded.putAll(known.files());
              }
              return goes;
            });
  }

  /** What a commit says of these files, for all of which something was made. */
  List<Action> actions(IncrementalSnapshot table, RemovalMetrics counts) {
    List<Action> actions = new ArrayList<>();
    Set<Rewrites.Rewrite> written = new LinkedHashSet<>();
    for (AddFile file : table.files()) {
      CopiedFile known = made.get(file.path());
      if (known.rewrite() != null) {
        counts.rewritten(file.size());
        written.add(known.rewrite());
      } else if (known.added() != null) {
        counts.copied(file.size(), known.added().size());
        actions.add(known.added());
      } else {
        counts.kept(file.size());
        continue;
      }
      actions.add(CopiedActions.removed(file));
    }
    for (Rewrites.Rewrite rewrite : written) {
      for (AddFile file : rewrite.written()) {
        counts.written(file.size());
        actions.add(file);
      }
    }
    unused(table.files()).forEach((path, size) -> counts.discarded(size));
    RenamedClustering.of(table, plan.keys()).ifPresent(actions::add);
    return actions;
  }

  /** What was made for nothing, as it is now: RESTORE may bring a file back that was removed. */
  private Map<String, Long> unused(Collection<AddFile> live) {
    Map<String, Long> unused = new LinkedHashMap<>(discarded);
    Set<String> sources = new HashSet<>();
    live.forEach(file -> sources.add(file.path()));
    made.forEach(
        (source, known) -> {
          if (!sources.contains(source)) {
            unused.putAll(known.files());
          }
        });
    return unused;
  }

  /** Returns whether anything was made; if not, nobody needs to list the live files. */
  boolean areAny() {
    return !made.isEmpty() || !discarded.isEmpty();
  }

  /** Removes what was made for nothing, once these files are left. */
  void sweep(Collection<AddFile> live) {
    places.remove(unused(live).keySet(), configuration);
  }

  /** Removes all that was made. */
  void removeAll() {
    places.removeAll(rewrites.paths(), configuration);
  }

  /** Ends what tasks began to upload and could not end themselves. */
  void abortUploads() {
    if (numFiles > 0) {
      places.abortUploads(configuration);
    }
  }

  private FileJob job() {
    return new FileJob(session, configuration, plan, places.table());
  }
}
