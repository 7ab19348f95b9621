// SPDX-License-Identifier: Apache-2.0
package sparkext.command;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.UncheckedIOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.LogSegment;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.VersionChecksum;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;
import sparkext.rule.CountedFiles;

/**
 * How many files a table's version has, and their size, told without a Spark job where that can be.
 *
 * <p>Source: Protocol, "Action Reconciliation".
 */
public final class LiveFiles {
  /** Of more, the executors together are quicker. */
  private static final long MAX_BYTES = 16 << 20;

  private static final ObjectMapper MAPPER = new ObjectMapper();

  /** The size of each file, by its path and its deletion vector. */
  private final Map<String, Long> sizes = new HashMap<>();

  private LiveFiles() {}

  /** As the checksum has them, which Delta goes by too; else as the log has them. */
  public static CountedFiles.Count of(Snapshot snapshot) {
    Option<VersionChecksum> checksum = snapshot.checksumOpt();
    if (checksum.isDefined()) {
      return new CountedFiles.Count(checksum.get().numFiles(), checksum.get().tableSizeBytes());
    }
    LogSegment log = snapshot.logSegment();
    List<FileStatus> commits = CollectionConverters.asJava(log.deltas());
    if (log.checkpointProvider().isEmpty()
        && commits.stream().mapToLong(FileStatus::getLen).sum() <= MAX_BYTES) {
      return inCommits(snapshot.deltaLog(), commits);
    }
    return new CountedFiles.Count(snapshot.numOfFiles(), snapshot.sizeInBytes());
  }

  private static CountedFiles.Count inCommits(DeltaLog log, List<FileStatus> commits) {
    LiveFiles live = new LiveFiles();
    Configuration configuration = log.newDeltaHadoopConf();
    for (FileStatus commit : commits) {
      CollectionConverters.asJava(log.store().read(commit, configuration)).forEach(live::replay);
    }
    long bytes = live.sizes.values().stream().mapToLong(Long::longValue).sum();
    return new CountedFiles.Count(live.sizes.size(), bytes);
  }

  private void replay(String line) {
    try {
      JsonNode action = MAPPER.readTree(line);
      if (action.has("add")) {
        JsonNode file = action.get("add");
        sizes.put(key(file), file.path("size").asLong());
      } else if (action.has("remove")) {
        sizes.remove(key(action.get("remove")));
      }
    } catch (JsonProcessingException noAction) {
      throw new UncheckedIOException(noAction);
    }
  }

  private static String key(JsonNode file) {
    JsonNode vector = file.path("deletionVector");
    return String.join(
        "\n",
        file.path("path").asText(),
        vector.path("storageType").asText(),
        vector.path("pathOrInlineDv").asText(),
        vector.path("offset").asText());
  }
}
