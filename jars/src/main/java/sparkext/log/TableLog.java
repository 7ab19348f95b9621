// SPDX-License-Identifier: Apache-2.0
package sparkext.log;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.List;

/**
 * A table's log; {@code TableLog} of {@code spark_ext/log/actions.py} says what is in it.
 *
 * @param tornCommits the names of those that end with half a line
 * @param commits by version, those that change metadata or protocol
 * @param files null where nobody asked for them
 */
public record TableLog(
    long lastVersion,
    Long firstCommit,
    Long hintedCheckpoint,
    List<String> tornCommits,
    List<Commit> commits,
    List<Summary> summaries,
    List<FileGroup> files) {
  /**
   * A commit.
   *
   * @param time at which its file was last modified, in milliseconds since the epoch
   * @param actions as in the log, those that are not about files
   */
  public record Commit(long version, long time, List<JsonNode> actions) {
    boolean has(String kind) {
      return Actions.has(actions, kind);
    }
  }

  /**
   * A checkpoint, or a log compaction file.
   *
   * @param firstVersion null for a checkpoint
   */
  public record Summary(String file, long version, Long firstVersion, List<JsonNode> actions) {}
}
