// SPDX-License-Identifier: Apache-2.0
package sparkext.removal;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.delta.ClusteringTableFeature$;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.actions.Action;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.actions.DomainMetadata;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import sparkext.common.FailedRead;
import sparkext.common.UsageTrackingErrors;
import sparkext.common.UsageTrackingException;
import sparkext.copy.FileRequest.FileResult;
import sparkext.files.CopiedActions;
import sparkext.files.CopyPlaces;
import sparkext.files.FileJob;
import sparkext.files.FilePlan;
import sparkext.files.RenamedKeys;
import sparkext.parquet.ColumnPlan;

/**
 * The copies and rewritten files made so far. Later rounds reuse those that are still valid.
 *
 * <p>A byte copy has the rows of its source in the same order. If another writer adds a deletion
 * vector to the source, the vector is valid for the copy as well. A rewritten file is valid only
 * for the rows that Delta read.
 */
final class Copies {
  private static final Logger LOG = LoggerFactory.getLogger(Copies.class);

  private final SparkSession session;
  private final CopyPlaces places;
  private final Rewrites rewrites;
  private final RemovalProgress progress;

  /** Files by the path of the source. Removed sources are kept for RESTORE. */
  private final Map<String, CopiedFile> made = new HashMap<>();

  /** The sizes of written files that no commit will contain, by their paths in the log. */
  private final Map<String, Long> discarded = new LinkedHashMap<>();

  private FilePlan plan;
  private int numFiles;

  Copies(SparkSession session, CopyPlaces places, Rewrites rewrites, RemovalProgress progress) {
    this.session = session;
    this.places = places;
    this.rewrites = rewrites;
    this.progress = progress;
  }

  /** Uses a new plan, and discards the copies by the previous plan that are not valid by it. */
  void replacePlan(ColumnPlan columns, Snapshot snapshot) {
    FilePlan next = FilePlan.ofRemoval(columns, snapshot, places);
    if (plan != null && !next.continues(plan)) {
      discardIf(known -> true);
    } else if (plan != null && next.tracksRows() != plan.tracksRows()) {
      discardIf(known -> known.rewrite() != null); // rows have ids only if `plan` tracks rows
    }
    plan = next;
  }

  /** Returns the live files that have no valid copy yet. */
  List<AddFile> missing(Collection<AddFile> live) {
    List<AddFile> missing = new ArrayList<>();
    for (AddFile file : live) {
      CopiedFile known = made.get(file.path());
      if (known == null || !(known.isOf(file) || update(known, file))) {
        missing.add(file);
      }
    }
    missing.addAll(brokenRewrites(live));
    return missing;
  }

  /** Updates the record of a file's copy by the log, and returns whether the copy is valid. */
  private boolean update(CopiedFile known, AddFile file) {
    FilePlan.FileDecision now = plan.decide(file);
    CopiedFile updated = known.isValidFor(now) ? known.updated(now, places.paths()) : null;
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

  /** Discards rewrites with a removed or changed source, and returns their other live sources. */
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
   * Copies or rewrites files.
   *
   * @param round the number of the round
   */
  RoundFailures make(List<AddFile> missing, Snapshot snapshot, int round) {
    int first = numFiles;
    numFiles += missing.size();
    long size = missing.stream().mapToLong(AddFile::size).sum();
    String description =
        "round " + round + ", copies up to " + missing.size() + " files, " + size + " bytes";
    Map<String, FileJob.TaskResult> unreadable = new LinkedHashMap<>();
    List<FilePlan.FileDecision> toRewrite = new ArrayList<>();
    for (FileJob.TaskResult done :
        new FileJob(session, plan)
            .copy(missing, first, description, progress.begin(round, missing.size(), size))) {
      AddFile file = done.decision().file();
      FileResult result = done.result();
      switch (result.way()) {
        case UNREADABLE -> unreadable.put(file.path(), done);
        case TO_REWRITE -> {
          LOG.info("Delta rewrites {}: {}", file.path(), result.reason());
          toRewrite.add(done.decision());
        }
        default -> made.put(file.path(), CopiedFile.of(done.decision(), result, places.paths()));
      }
    }
    if (!unreadable.isEmpty()) {
      return new RoundFailures(unreadable, List.of(), null);
    }
    try {
      rewrite(toRewrite, snapshot);
      return new RoundFailures(Map.of(), List.of(), null);
    } catch (Exception failure) { // Scala declares no checked exceptions
      if (UsageTrackingErrors.isStop(failure)) {
        throw UsageTrackingException.sneakyThrow(failure);
      }
      LOG.warn("Delta failed to rewrite {} files", toRewrite.size(), failure);
      return new RoundFailures(Map.of(), files(toRewrite), failure);
    }
  }

  private static List<AddFile> files(List<FilePlan.FileDecision> decisions) {
    return decisions.stream().map(FilePlan.FileDecision::file).toList();
  }

  private void rewrite(List<FilePlan.FileDecision> toRewrite, Snapshot snapshot) {
    if (toRewrite.isEmpty()) {
      return;
    }
    Rewrites.Rewrite rewrite = rewrites.write(files(toRewrite), snapshot);
    for (FilePlan.FileDecision decision : toRewrite) {
      made.put(decision.file().path(), CopiedFile.rewritten(decision, rewrite));
    }
  }

  /** Discards copies that were deleted from the storage, as VACUUM does. */
  void discardDeleted() {
    Map<String, Long> stored = places.copies();
    Map<Rewrites.Rewrite, Boolean> rewritten = new HashMap<>();
    discardIf(
        known ->
            known.rewrite() != null
                ? !rewritten.computeIfAbsent(
                    known.rewrite(), rewrite -> places.haveAll(rewrite.written()))
                : !known.isStored(stored));
  }

  private void discardIf(Predicate<CopiedFile> isInvalid) {
    made.values()
        .removeIf(
            known -> {
              boolean isDiscarded = isInvalid.test(known);
              if (isDiscarded) {
                discarded.putAll(known.files());
              }
              return isDiscarded;
            });
  }

  /** Returns the actions of a commit for the live files, each of which has a valid copy. */
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

  /** Returns written files that no commit of these live files contains. */
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

  /** Returns whether no file is recorded, as made or as discarded. */
  boolean isEmpty() {
    return made.isEmpty() && discarded.isEmpty();
  }

  /** Removes written files that the commit of these live files does not contain. */
  void sweep(Collection<AddFile> live) {
    places.remove(unused(live).keySet());
  }

  /** Removes all written files. */
  void removeAll() {
    places.removeAll(rewrites.paths());
  }

  /** Aborts uploads that tasks began and could not abort themselves. */
  void abortUploads() {
    if (numFiles > 0) {
      places.abortUploads();
    }
  }

  /**
   * The failures of one round.
   *
   * @param unreadable the files that cannot be read, by their paths in the log
   * @param notRewritten the files that Delta failed to rewrite
   * @param failure of that rewrite; null if Delta rewrote the files
   */
  record RoundFailures(
      Map<String, FileJob.TaskResult> unreadable, List<AddFile> notRewritten, Exception failure) {
    /**
     * Throws the failure of a file that is live and has the same deletion vector, or of a rewrite
     * all of whose files are. A file that another writer removed, or its earlier vector, may be
     * deleted already.
     */
    void throwIfLive(Collection<AddFile> files) {
      if (unreadable.isEmpty() && failure == null) {
        return;
      }
      Map<String, AddFile> live = new HashMap<>();
      files.forEach(file -> live.put(file.path(), file));
      for (FileJob.TaskResult result : unreadable.values()) {
        if (isLive(result.decision().file(), live)) {
          throw result.unreadable().sneakyThrow();
        }
      }
      if (failure != null && notRewritten.stream().allMatch(file -> isLive(file, live))) {
        throw UsageTrackingException.sneakyThrow(FailedRead.described(failure));
      }
    }

    private static boolean isLive(AddFile file, Map<String, AddFile> live) {
      AddFile found = live.get(file.path());
      return found != null && Objects.equals(found.deletionVector(), file.deletionVector());
    }
  }

  /** Renames the clustering columns of a table in its log. */
  static final class RenamedClustering {
    private static final ObjectMapper MAPPER = new ObjectMapper();

    /** Source: Delta 4.4.0, ClusteringMetadataDomain.scala. */
    private static final String CLUSTERING = "delta.clustering";

    private static final String CLUSTERING_COLUMNS = "clusteringColumns";
    private static final String NO_CLUSTERING = "{\"" + CLUSTERING_COLUMNS + "\":[]}";

    private RenamedClustering() {}

    /**
     * Returns the domain metadata with the new names. If a table supports clustering and has no
     * clustering columns, the domain metadata is empty: without it, a concurrent statement that
     * clusters the table by old names would not conflict.
     */
    static Optional<Action> of(IncrementalSnapshot table, RenamedKeys keys) {
      if (!table.snapshot().protocol().isFeatureSupported(ClusteringTableFeature$.MODULE$)) {
        return Optional.empty();
      }
      String configuration =
          table.domain(CLUSTERING).map(DomainMetadata::configuration).orElse(NO_CLUSTERING);
      return Optional.of(
          new DomainMetadata(CLUSTERING, renamed(configuration, keys), /* removed= */ false));
    }

    private static String renamed(String configuration, RenamedKeys keys) {
      try {
        ObjectNode clustering = (ObjectNode) MAPPER.readTree(configuration);
        ArrayNode columns = MAPPER.createArrayNode();
        for (JsonNode path : clustering.required(CLUSTERING_COLUMNS)) {
          List<String> names = new ArrayList<>();
          path.forEach(name -> names.add(name.textValue()));
          ArrayNode renamed = columns.addArray();
          keys.path(names).forEach(renamed::add);
        }
        clustering.set(CLUSTERING_COLUMNS, columns);
        return MAPPER.writeValueAsString(clustering);
      } catch (JsonProcessingException noClustering) {
        throw new UncheckedIOException(noClustering);
      }
    }
  }
}
