// SPDX-License-Identifier: Apache-2.0
package sparkext.log;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/**
 * What lies in a table's {@code _delta_log}.
 *
 * <p>Source: Protocol, "File Types"; Delta 4.4.0, FileNames.scala.
 *
 * @param commits by version; those before a missing one are left out, as if it had been cleaned up
 * @param checkpoints by version; those of which every part is there
 * @param compactions log compaction files, by their last version
 * @param hintedCheckpoint the version in {@code _last_checkpoint}, -1 where that has none; or null
 */
record LogListing(
    List<Commit> commits,
    List<Checkpoint> checkpoints,
    List<Compaction> compactions,
    Long hintedCheckpoint) {
  private static final String FOLDER = "_delta_log";
  private static final String SIDECARS = "_sidecars";
  private static final String STAGED_COMMITS = "_staged_commits";
  private static final String HINT = "_last_checkpoint";
  private static final long NO_VERSION = -1;
  private static final Pattern COMMIT = Pattern.compile("(\\d{20})\\.json");
  private static final Pattern STAGED = Pattern.compile("(\\d{20})\\.[^.]+\\.json");
  private static final Pattern COMPACTION =
      Pattern.compile("(\\d{20})\\.(\\d{20})\\.compacted.json");
  private static final Pattern WHOLE = Pattern.compile("(\\d{20})\\.checkpoint\\.parquet");
  private static final Pattern PART =
      Pattern.compile("(\\d{20})\\.checkpoint\\.(\\d{10})\\.(\\d{10})\\.parquet");
  private static final Pattern V2 =
      Pattern.compile("(\\d{20})\\.checkpoint\\.[0-9a-f-]{36}\\.(json|parquet)");

  /**
   * A commit's file.
   *
   * @param time at which it was last modified, in milliseconds since the epoch
   */
  record Commit(long version, Path path, long time) {}

  /**
   * A checkpoint of one file or of several parts.
   *
   * @param mayHaveSidecars whether files with its {@code add} actions may stand beside it
   */
  record Checkpoint(long version, List<Path> parts, boolean mayHaveSidecars) {
    boolean isJson() {
      return parts.get(0).getName().endsWith(".json");
    }
  }

  /** A log compaction file. */
  record Compaction(long firstVersion, long version, Path path) {}

  /**
   * Lists a table's log; empty where the table has none.
   *
   * @param staged commits that a catalog has accepted, for those that are nowhere else
   */
  static LogListing of(Path table, Configuration configuration, List<FileStatus> staged)
      throws IOException {
    Path folder = new Path(table, FOLDER);
    FileSystem storage = folder.getFileSystem(configuration);
    List<Commit> commits = new ArrayList<>();
    List<Checkpoint> checkpoints = new ArrayList<>();
    List<Compaction> compactions = new ArrayList<>();
    Map<String, List<Path>> parts = new TreeMap<>();
    for (FileStatus file : list(storage, folder)) {
      Path path = file.getPath();
      String name = path.getName();
      Matcher found;
      if (file.getLen() == 0 && name.contains(".checkpoint.")) {
        continue; // Delta, SnapshotManagement.scala: passes over them
      }
      if ((found = COMMIT.matcher(name)).matches()) {
        commits.add(new Commit(version(found, 1), path, file.getModificationTime()));
      } else if ((found = COMPACTION.matcher(name)).matches()) {
        compactions.add(new Compaction(version(found, 1), version(found, 2), path));
      } else if ((found = WHOLE.matcher(name)).matches()) {
        // Protocol, "V2 Spec": one under a classic name may be of version 2 as well.
        checkpoints.add(new Checkpoint(version(found, 1), List.of(path), true));
      } else if ((found = V2.matcher(name)).matches()) {
        checkpoints.add(new Checkpoint(version(found, 1), List.of(path), true));
      } else if ((found = PART.matcher(name)).matches()) {
        parts
            .computeIfAbsent(found.group(1) + "." + found.group(3), k -> new ArrayList<>())
            .add(path);
      }
    }
    Set<Long> published = commits.stream().map(Commit::version).collect(Collectors.toSet());
    commits(staged).filter(commit -> !published.contains(commit.version())).forEach(commits::add);
    parts.forEach((key, files) -> addWhole(key, files, checkpoints));
    commits.sort(Comparator.comparingLong(Commit::version));
    commits.subList(0, afterGap(commits)).clear();
    checkpoints.sort(
        Comparator.comparingLong(Checkpoint::version).thenComparing(c -> c.parts().get(0)));
    compactions.sort(Comparator.comparingLong(Compaction::version));
    return new LogListing(commits, checkpoints, compactions, hint(storage, new Path(folder, HINT)));
  }

  /**
   * Whether commits wait after the last one that is in the folder itself; which of them count is
   * known to the table's catalog alone.
   */
  boolean hasStaged(Path table, Configuration configuration) throws IOException {
    Path folder = new Path(new Path(table, FOLDER), STAGED_COMMITS);
    return commits(List.of(list(folder.getFileSystem(configuration), folder)))
        .anyMatch(commit -> commit.version() > lastVersion());
  }

  private static Stream<Commit> commits(List<FileStatus> staged) {
    return staged.stream()
        .map(
            file -> {
              Matcher found = STAGED.matcher(file.getPath().getName());
              return found.matches()
                  ? new Commit(version(found, 1), file.getPath(), file.getModificationTime())
                  : null;
            })
        .filter(Objects::nonNull);
  }

  boolean isEmpty() {
    return commits.isEmpty() && checkpoints.isEmpty();
  }

  long lastVersion() {
    long commit = commits.isEmpty() ? -1 : commits.get(commits.size() - 1).version();
    return newestCheckpoint() == null ? commit : Math.max(commit, newestCheckpoint().version());
  }

  /** Every file of lines of JSON. */
  List<Path> jsonFiles() {
    return Stream.of(
            commits.stream().map(Commit::path),
            compactions.stream().map(Compaction::path),
            checkpoints.stream().filter(Checkpoint::isJson).flatMap(c -> c.parts().stream()))
        .flatMap(files -> files)
        .toList();
  }

  /** Every Parquet file but sidecars. */
  List<Path> parquetFiles() {
    return checkpoints.stream()
        .filter(checkpoint -> !checkpoint.isJson())
        .flatMap(checkpoint -> checkpoint.parts().stream())
        .toList();
  }

  /** The one that readers begin with, or null. */
  Checkpoint newestCheckpoint() {
    return checkpoints.isEmpty() ? null : checkpoints.get(checkpoints.size() - 1);
  }

  /** Where a sidecar that a checkpoint names is. */
  static Path sidecar(Path table, String path) {
    Path given = new Path(URI.create(path));
    return given.isAbsolute()
        ? given
        : new Path(new Path(new Path(table, FOLDER), SIDECARS), given);
  }

  /** Those without which there is no history. */
  LogListing forMetadata() {
    boolean isWhole = !commits.isEmpty() && commits.get(0).version() == 0;
    return isWhole ? new LogListing(commits, List.of(), List.of(), hintedCheckpoint) : this;
  }

  /** Where the commits begin that no other is missing between. */
  private static int afterGap(List<Commit> commits) {
    int first = commits.size() - 1;
    while (first > 0 && commits.get(first - 1).version() == commits.get(first).version() - 1) {
      first--;
    }
    return Math.max(first, 0);
  }

  private static FileStatus[] list(FileSystem storage, Path folder) throws IOException {
    try {
      return storage.listStatus(folder);
    } catch (FileNotFoundException none) {
      return new FileStatus[0];
    }
  }

  /** Readers pass over a checkpoint of which a part is missing. */
  private static void addWhole(String key, List<Path> files, List<Checkpoint> checkpoints) {
    String[] versionAndCount = key.split("\\.");
    if (files.size() == Integer.parseInt(versionAndCount[1])) {
      files.sort(Comparator.naturalOrder());
      checkpoints.add(new Checkpoint(Long.parseLong(versionAndCount[0]), files, false));
    }
  }

  private static Long hint(FileSystem storage, Path file) throws IOException {
    try (InputStream text = storage.open(file)) {
      return new ObjectMapper().readTree(text).path("version").asLong(NO_VERSION);
    } catch (FileNotFoundException none) {
      return null;
    } catch (JsonProcessingException broken) {
      return NO_VERSION; // readers do without
    }
  }

  private static long version(Matcher found, int group) {
    return Long.parseLong(found.group(group));
  }
}
