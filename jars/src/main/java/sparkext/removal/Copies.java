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
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.delta.ClusteringTableFeature$;
import org.apache.spark.sql.delta.OptimisticTransaction;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.actions.Action;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.actions.DomainMetadata;
import org.apache.spark.sql.delta.commands.columnmapping.RemoveColumnMappingCommand;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.jdk.javaapi.CollectionConverters;
import sparkext.common.FailedRead;
import sparkext.common.UsageTrackingErrors;
import sparkext.common.UsageTrackingException;
import sparkext.copy.FileRequest.FileResult;
import sparkext.files.CopiedActions;
import sparkext.files.CopyPlaces;
import sparkext.files.FileJob;
import sparkext.files.FilePlan;
import sparkext.files.LiveTable;
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
  private final RemovalCommit commit;
  private final RemovalProgress progress;

  /** Copied and kept files by the path of the source. Removed sources are kept for RESTORE. */
  private final Map<String, CopiedFile> made = new HashMap<>();

  private final List<Rewrite> rewrites = new ArrayList<>();

  /** The paths in the log of all files that Delta has written, also of discarded ones. */
  private final Set<String> rewritten = new HashSet<>();

  /** The sizes of written files that no commit will contain, by their paths in the log. */
  private final Map<String, Long> discarded = new LinkedHashMap<>();

  private FilePlan plan;
  private int numFiles;

  /** Files that Delta has read, and the files that it wrote in their place. */
  private record Rewrite(List<AddFile> sources, List<AddFile> written) {}

  Copies(SparkSession session, CopyPlaces places, RemovalCommit commit, RemovalProgress progress) {
    this.session = session;
    this.places = places;
    this.commit = commit;
    this.progress = progress;
  }

  /** Uses a new plan, and discards the copies by the previous plan that are not valid by it. */
  void replacePlan(ColumnPlan columns, Snapshot snapshot) {
    FilePlan next = FilePlan.ofRemoval(columns, snapshot, places);
    boolean continues = plan == null || next.continues(plan);
    discardIf(known -> !continues);
    // Rows have ids only if the plan tracks rows.
    discardRewritesIf(rewrite -> !continues || next.tracksRows() != plan.tracksRows());
    plan = next;
  }

  /** Returns the live files that have no valid copy yet. */
  List<AddFile> missing(Collection<AddFile> live) {
    Map<String, AddFile> byPath = new HashMap<>();
    live.forEach(file -> byPath.put(file.path(), file));
    discardRewritesIf(
        rewrite ->
            !rewrite.sources().stream().allMatch(file -> file.equals(byPath.get(file.path()))));
    Set<String> sources = sourcesOfRewrites();
    return live.stream().filter(file -> !sources.contains(file.path()) && !isMade(file)).toList();
  }

  private Set<String> sourcesOfRewrites() {
    Set<String> sources = new HashSet<>();
    rewrites.forEach(rewrite -> rewrite.sources().forEach(file -> sources.add(file.path())));
    return sources;
  }

  /** Returns whether a file has a valid copy, after updating the copy by the log. */
  private boolean isMade(AddFile file) {
    CopiedFile known = made.get(file.path());
    if (known == null || known.decision().file().equals(file)) {
      return known != null;
    }
    FilePlan.FileDecision now = plan.decide(file);
    made.remove(file.path());
    Map<String, Long> unused = new HashMap<>(known.files());
    if (known.isValidFor(now)) {
      CopiedFile updated = known.updated(now, places.paths());
      made.put(file.path(), updated);
      unused.keySet().removeAll(updated.files().keySet());
    }
    discarded.putAll(unused);
    return made.containsKey(file.path());
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
    List<FileJob.TaskResult> unreadable = new ArrayList<>();
    List<AddFile> toRewrite = new ArrayList<>();
    for (FileJob.TaskResult done :
        new FileJob(session, plan)
            .copy(missing, first, description, progress.begin(round, missing.size(), size))) {
      AddFile file = done.decision().file();
      FileResult result = done.result();
      switch (result.way()) {
        case UNREADABLE -> unreadable.add(done);
        case TO_REWRITE -> {
          LOG.info("Delta rewrites {}: {}", file.path(), result.reason());
          toRewrite.add(file);
        }
        default -> made.put(file.path(), CopiedFile.of(done.decision(), result, places.paths()));
      }
    }
    if (!unreadable.isEmpty() || toRewrite.isEmpty()) {
      return new RoundFailures(unreadable, List.of(), null);
    }
    try {
      rewrite(toRewrite, snapshot);
      return new RoundFailures(List.of(), List.of(), null);
    } catch (Exception failure) { // Scala declares no checked exceptions
      if (UsageTrackingErrors.isStop(failure)) {
        throw UsageTrackingException.sneakyThrow(failure);
      }
      LOG.warn("Delta failed to rewrite {} files", toRewrite.size(), failure);
      return new RoundFailures(List.of(), toRewrite, failure);
    }
  }

  /** Rewrites files of a version as Delta's command does, in a transaction without a commit. */
  private void rewrite(List<AddFile> sources, Snapshot snapshot) {
    RemoveColumnMappingCommand command = commit.command();
    OptimisticTransaction draft = commit.begin(snapshot);
    List<AddFile> written =
        List.copyOf(
            CollectionConverters.asJava(
                command.writeData(
                    draft,
                    command.buildDataFrame(draft, CollectionConverters.asScala(sources).toList()),
                    command.getDeltaOptionsForWrite(session))));
    written.forEach(file -> rewritten.add(file.path()));
    rewrites.add(new Rewrite(sources, written));
  }

  /** Discards copies that were deleted from the storage, as VACUUM does. */
  void discardDeleted() {
    Map<String, Long> stored = places.copies();
    discardIf(known -> !known.isStored(stored));
    discardRewritesIf(rewrite -> !places.haveAll(rewrite.written()));
  }

  private void discardIf(Predicate<CopiedFile> isInvalid) {
    made.values().stream().filter(isInvalid).forEach(known -> discarded.putAll(known.files()));
    made.values().removeIf(isInvalid);
  }

  private void discardRewritesIf(Predicate<Rewrite> isInvalid) {
    rewrites.removeIf(
        rewrite -> {
          boolean isDiscarded = isInvalid.test(rewrite);
          if (isDiscarded) {
            rewrite.written().forEach(file -> discarded.put(file.path(), file.size()));
          }
          return isDiscarded;
        });
  }

  /** Returns the actions of a commit for the live files, each of which has a valid copy. */
  List<Action> actions(LiveTable table, RemovalMetrics counts) {
    List<Action> actions = new ArrayList<>();
    Set<String> sources = sourcesOfRewrites();
    for (AddFile file : table.files()) {
      boolean isRewritten = sources.contains(file.path());
      AddFile copy = isRewritten ? null : made.get(file.path()).added();
      if (isRewritten) {
        counts.rewritten(file.size());
      } else if (copy != null) {
        counts.copied(file.size(), copy.size());
        actions.add(copy);
      } else {
        counts.kept(file.size());
        continue;
      }
      actions.add(CopiedActions.removed(file));
    }
    for (Rewrite rewrite : rewrites) {
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
    return made.isEmpty() && rewrites.isEmpty() && discarded.isEmpty();
  }

  /** Removes written files that the commit of these live files does not contain. */
  void sweep(Collection<AddFile> live) {
    places.remove(unused(live).keySet());
  }

  /** Removes all written files. */
  void removeAll() {
    places.removeAll(rewritten);
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
   * @param unreadable the files that cannot be read
   * @param notRewritten the files that Delta failed to rewrite
   * @param failure of that rewrite; null if Delta rewrote the files
   */
  record RoundFailures(
      List<FileJob.TaskResult> unreadable, List<AddFile> notRewritten, Exception failure) {
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
      for (FileJob.TaskResult result : unreadable) {
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
    static Optional<Action> of(LiveTable table, RenamedKeys keys) {
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
