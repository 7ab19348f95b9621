// SPDX-License-Identifier: Apache-2.0
package sparkext.log;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.List;

/**
 * A table's log. {@code TableLog} of {@code spark_ext/log/actions.py} documents each component.
 *
 * @param truncatedCommits the names of commits whose last line is incomplete
 * @param commits the commits that change metadata or protocol, in order
 * @param files null if they were not requested
 */
public record TableLog(
    long lastVersion,
    Long firstCommit,
    Long lastCheckpointTarget,
    List<String> truncatedCommits,
    List<Commit> commits,
    List<Summary> summaries,
    List<FileGroup> files) {
  /**
   * A commit.
   *
   * @param time of the last modification of its file, in milliseconds since the epoch
   * @param actions the actions of the log that concern no files
   */
  public record Commit(long version, long time, List<JsonNode> actions) {
    boolean contains(String kind) {
      return actions.stream().anyMatch(action -> action.has(kind));
    }
  }

  /**
   * A checkpoint, or a log compaction file.
   *
   * @param firstVersion null for a checkpoint
   */
  public record Summary(String file, long version, Long firstVersion, List<JsonNode> actions) {}

  /** Returns the versions that change the metadata, oldest first. */
  List<Long> metadataVersions() {
    return commits.stream()
        .filter(commit -> commit.contains("metaData"))
        .map(Commit::version)
        .toList();
  }

  /** Returns the same log with data files. */
  TableLog with(List<FileGroup> groups) {
    return new TableLog(
        lastVersion,
        firstCommit,
        lastCheckpointTarget,
        truncatedCommits,
        commits,
        summaries,
        groups);
  }

  /** A version of a table, and its time in milliseconds since the epoch. */
  public record Moment(long version, long time) {}

  /** A number of files and their size in bytes. */
  public record FileCount(long numFiles, long sizeInBytes) {
    /** The count of no file. */
    public static final FileCount ZERO = new FileCount(0, 0);

    /** Returns this count with one more file. */
    public FileCount plus(long size) {
      return new FileCount(numFiles + 1, sizeInBytes + size);
    }
  }

  /**
   * The moment since which live files are clean, as far as the metadata shows it; {@code
   * spark_ext/erasure/moment.py} documents each component.
   *
   * @param time of the version in milliseconds since the epoch, as far as Python knows it
   */
  public record ErasureStart(long since, Long checked, long version, long time) {
    /** Returns the same start, not before the files of its version in the log. */
    ErasureStart notBefore(LogFolder log) {
      return checked != null || version < 0
          ? this
          : new ErasureStart(since, null, version, Math.max(time, log.timeOf(since)));
    }
  }
}
