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
import java.util.NavigableMap;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.ChecksumException;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/**
 * A table's {@code _delta_log}, listed once with the folders in it.
 *
 * <p>Source: Delta 4.4.0, SnapshotManagement.scala and MetadataCleanup.scala.
 *
 * @param files all files except the checksums that Hadoop writes
 * @param commits by version. Commits before a missing version are omitted, as after log cleanup.
 * @param checkpoints by version, without those that lack a part
 * @param compactions log compaction files, by last version
 * @param lastCheckpointTarget the version in {@code _last_checkpoint}; -1 if that file contains
 *     none, null if that file does not exist
 */
record LogFolder(
    Path table,
    List<LogFile> files,
    List<LogFile> commits,
    List<Checkpoint> checkpoints,
    List<LogFile> compactions,
    Long lastCheckpointTarget) {
  static final String NAME = "_delta_log";
  private static final String LAST_CHECKPOINT = "_last_checkpoint";
  private static final long NO_VERSION = -1;

  /** Hadoop writes checksums beside files. They contain no values. */
  static final Pattern HADOOP_CHECKSUM = Pattern.compile("\\..+\\.crc");

  /**
   * A checkpoint.
   *
   * @param mayHaveSidecars whether its {@code add} actions may be in other files
   */
  record Checkpoint(long version, List<Path> parts, boolean mayHaveSidecars) {
    boolean isJson() {
      return parts.get(0).getName().endsWith(".json");
    }
  }

  /**
   * Lists the log of a table. The result is empty if the table has no log.
   *
   * @param accepted staged commits that the table's catalog has accepted. Other staged commits may
   *     have failed.
   */
  static LogFolder of(Path table, Configuration configuration, List<FileStatus> accepted)
      throws IOException {
    Path folder = new Path(table, NAME);
    FileSystem storage = folder.getFileSystem(configuration);
    List<LogFile> found = new ArrayList<>();
    list(storage, folder, "", found);
    List<LogFile> commits = commits(found, accepted);
    List<Checkpoint> checkpoints = checkpoints(found);
    return new LogFolder(
        table,
        List.copyOf(found),
        commits,
        checkpoints,
        found.stream()
            .filter(file -> file.firstVersion() != null)
            .sorted(Comparator.comparing(LogFile::version))
            .toList(),
        lastCheckpointTarget(storage, found));
  }

  private static void list(FileSystem storage, Path path, String folder, List<LogFile> found)
      throws IOException {
    FileStatus[] inside;
    try {
      inside = storage.listStatus(path);
    } catch (FileNotFoundException none) {
      return;
    }
    for (FileStatus file : inside) {
      String name = file.getPath().getName();
      if (file.isDirectory()) {
        list(storage, file.getPath(), folder.isEmpty() ? name : folder + "/" + name, found);
      } else if (!HADOOP_CHECKSUM.matcher(name).matches()) {
        found.add(LogFile.of(file, folder));
      }
    }
  }

  private static List<LogFile> commits(List<LogFile> files, List<FileStatus> accepted) {
    NavigableMap<Long, LogFile> commits = new TreeMap<>();
    for (FileStatus status : accepted) {
      LogFile staged = LogFile.of(status, LogFile.STAGED_COMMITS);
      if (staged.version() != null) {
        files.stream()
            .filter(file -> file.isIn(LogFile.STAGED_COMMITS))
            .filter(file -> file.path().getName().equals(staged.path().getName()))
            .findFirst()
            .ifPresentOrElse(
                file -> commits.put(file.version(), file),
                () -> commits.put(staged.version(), staged));
      }
    }
    files.stream()
        .filter(file -> file.kind() == LogFile.Kind.COMMIT && file.isIn(""))
        .forEach(file -> commits.put(file.version(), file));
    List<LogFile> sorted = new ArrayList<>(commits.values());
    int first = Math.max(sorted.size() - 1, 0);
    while (first > 0 && sorted.get(first - 1).version() == sorted.get(first).version() - 1) {
      first--;
    }
    return increasing(sorted.subList(first, sorted.size()));
  }

  /**
   * Returns commits with increasing times. The times of files need not increase.
   *
   * <p>Source: Delta 4.4.0, DeltaHistoryManager.scala, {@code monotonizeCommitTimestamps}.
   */
  private static List<LogFile> increasing(List<LogFile> commits) {
    List<LogFile> found = new ArrayList<>();
    long earliest = Long.MIN_VALUE;
    for (LogFile commit : commits) {
      found.add(commit.at(Math.max(commit.time(), earliest)));
      earliest = found.get(found.size() - 1).time() + 1;
    }
    return List.copyOf(found);
  }

  /** Returns the checkpoints without empty files and missing parts. Delta ignores the others. */
  private static List<Checkpoint> checkpoints(List<LogFile> files) {
    return files.stream()
        .filter(
            file -> file.kind() == LogFile.Kind.CHECKPOINT && file.isIn("") && file.length() > 0)
        .collect(
            Collectors.groupingBy(
                file ->
                    file.version()
                        + "."
                        + (file.parts() > 1 ? file.parts() : file.path().getName())))
        .values()
        .stream()
        .filter(parts -> parts.size() == parts.get(0).parts())
        .map(
            parts ->
                // Protocol, "V2 Spec": a checkpoint with a classic name may be of version 2.
                new Checkpoint(
                    parts.get(0).version(),
                    parts.stream().map(LogFile::path).sorted().toList(),
                    parts.get(0).parts() == 1))
        .sorted(Comparator.comparingLong(Checkpoint::version).thenComparing(c -> c.parts().get(0)))
        .toList();
  }

  private static Long lastCheckpointTarget(FileSystem storage, List<LogFile> files)
      throws IOException {
    for (LogFile file : files) {
      if (file.isIn("") && file.path().getName().equals(LAST_CHECKPOINT)) {
        try (InputStream text = storage.open(file.path())) {
          return new ObjectMapper().readTree(text).path("version").asLong(NO_VERSION);
        } catch (FileNotFoundException replaced) {
          return null; // a writer replaces the file at this moment
        } catch (JsonProcessingException | ChecksumException broken) {
          return NO_VERSION; // Delta ignores the file
        }
      }
    }
    return null;
  }

  /** Returns the paths of all files. */
  Set<Path> paths() {
    return files.stream().map(LogFile::path).collect(Collectors.toSet());
  }

  boolean isEmpty() {
    return commits.isEmpty() && checkpoints.isEmpty();
  }

  long lastVersion() {
    long commit = commits.isEmpty() ? NO_VERSION : commits.get(commits.size() - 1).version();
    return checkpoints.isEmpty()
        ? commit
        : Math.max(commit, checkpoints.get(checkpoints.size() - 1).version());
  }

  /** Returns the checkpoint that readers begin with; null if there is none. */
  Checkpoint newestCheckpoint() {
    return checkpoints.isEmpty() ? null : checkpoints.get(checkpoints.size() - 1);
  }

  /** Returns whether staged commits follow the last version that is read here. */
  boolean hasStagedCommits() {
    return files.stream().anyMatch(file -> file.isAfter(lastVersion()));
  }

  /** Returns the commits, log compaction files and checkpoints that are lines of JSON. */
  List<Path> jsonFiles() {
    return Stream.of(
            commits.stream().map(LogFile::path),
            compactions.stream().map(LogFile::path),
            checkpoints.stream().filter(Checkpoint::isJson).flatMap(c -> c.parts().stream()))
        .flatMap(paths -> paths)
        .toList();
  }

  /** Returns the checkpoints that are Parquet files, without sidecars. */
  List<Path> parquetFiles() {
    return checkpoints.stream()
        .filter(checkpoint -> !checkpoint.isJson())
        .flatMap(checkpoint -> checkpoint.parts().stream())
        .toList();
  }

  /** Returns only the commits if they contain the whole history of the metadata. */
  LogFolder forMetadata() {
    boolean isWhole = !commits.isEmpty() && commits.get(0).version() == 0;
    return isWhole
        ? new LogFolder(table, files, commits, List.of(), List.of(), lastCheckpointTarget)
        : this;
  }

  /** Returns the path of a sidecar that a checkpoint names. */
  Path sidecar(String path) {
    Path given = new Path(URI.create(path));
    return given.isAbsolute()
        ? given
        : new Path(new Path(new Path(table, NAME), LogFile.SIDECARS), given);
  }

  /**
   * Returns the time of a version: the newest time of its commit and its checkpoints, in
   * milliseconds since the epoch. If the log lacks the version, that of the next one it has.
   */
  long timeOf(long version) {
    long next =
        versioned().mapToLong(LogFile::version).filter(each -> each >= version).min().orElse(0);
    return versioned()
        .filter(file -> file.version() == next && file.kind() != LogFile.Kind.CHECKSUM)
        .mapToLong(LogFile::time)
        .max()
        .orElse(0);
  }

  /**
   * Returns the time from which the retention of log cleanup counts for all files up to a version,
   * in milliseconds since the epoch. Cleanup deletes the files before a checkpoint together; the
   * table may write its next checkpoint after its last version.
   *
   * <p>Source: Delta 4.4.0, DeltaHistoryManager.scala, {@code BufferingLogDeletionIterator}.
   */
  long cleanableFrom(long version) {
    return LongStream.concat(
            checkpoints.stream().mapToLong(Checkpoint::version), LongStream.of(lastVersion() + 1))
        .filter(boundary -> boundary > version)
        .map(boundary -> newestBefore(boundary))
        .min()
        .orElseThrow();
  }

  private long newestBefore(long boundary) {
    return versioned()
        .filter(file -> file.version() < boundary)
        .mapToLong(LogFile::time)
        .max()
        .orElse(0);
  }

  /** Returns the files that log cleanup deletes. */
  private Stream<LogFile> versioned() {
    return files.stream().filter(file -> file.isIn("") && file.length() > 0 && file.isVersioned());
  }
}
