// SPDX-License-Identifier: Apache-2.0
package sparkext.log;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.net.URI;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.ChecksumException;
import org.apache.hadoop.fs.Path;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.api.java.function.Function;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.util.SerializableConfiguration;
import sparkext.common.UsageTrackingException;

/**
 * The content of one JSON file of a log: the table's metadata and columns. A task reads each file
 * once.
 *
 * @param lines the lines that contain an action of {@link #KINDS}
 * @param isTruncated whether only the last line is invalid JSON, which {@code lines} then omits
 * @param problem why the file could not be read; null otherwise
 * @param mentions null if they were not requested
 */
public record LogJson(List<String> lines, boolean isTruncated, String problem, LogFiles mentions) {
  /**
   * Selects the lines that the driver receives. Checksum files have long lines with the same
   * actions as commits, and no check reads those lines.
   */
  public enum Wanted {
    LINES,
    MENTIONS,
    LINES_AND_MENTIONS
  }

  /** The actions that are not about files. */
  static final List<String> KINDS = List.of("commitInfo", "protocol", "metaData");

  /** The keys with their quotes, which a string inside of JSON would have escaped. */
  private static final List<String> KEYS = KINDS.stream().map(kind -> '"' + kind + '"').toList();

  /** The driver reads this many files before a job would have begun. */
  private static final int MAX_FILES_WITHOUT_A_JOB = 8;

  /** The reading of this many files takes much longer than the start of a task. */
  static final int FILES_PER_TASK = 50;

  private static final ObjectMapper MAPPER = new ObjectMapper();

  /**
   * Reads files, in a Spark job if there are many.
   *
   * @param wanted with column mentions, a file that differs from its checksum has a problem;
   *     otherwise that is a failure of the storage
   * @return by file, in the order of the files
   * @throws UsageTrackingException a failure of the storage; from a job, Spark's exception
   */
  public static Map<Path, LogJson> of(
      JavaSparkContext context,
      Configuration configuration,
      Collection<Path> files,
      Wanted wanted) {
    Map<Path, LogJson> found = new LinkedHashMap<>();
    try {
      if (files.size() <= MAX_FILES_WITHOUT_A_JOB) {
        for (Path file : files) {
          found.put(file, of(file, configuration, wanted));
        }
        return found;
      }
      // Texts only: every serializer that an application sets supports them.
      List<String> uris = files.stream().map(file -> file.toUri().toString()).toList();
      Broadcast<SerializableConfiguration> broadcast =
          context.broadcast(new SerializableConfiguration(configuration));
      List<String> texts;
      try {
        texts =
            context
                .parallelize(uris, tasks(context, uris.size()))
                .map(new Task(broadcast, wanted))
                .collect();
      } finally {
        broadcast.destroy();
      }
      int number = 0;
      for (Path file : files) {
        found.put(file, MAPPER.readValue(texts.get(number++), LogJson.class));
      }
      return found;
    } catch (IOException unreadable) {
      throw UsageTrackingException.sneakyThrow(unreadable);
    }
  }

  /** Returns the number of tasks for a number of files. */
  static int tasks(JavaSparkContext context, int files) {
    return Math.min(files, Math.max(context.defaultParallelism(), files / FILES_PER_TASK));
  }

  private record Task(Broadcast<SerializableConfiguration> configuration, Wanted wanted)
      implements Function<String, String> {
    @Override
    public String call(String uri) throws IOException {
      Path path = new Path(URI.create(uri));
      return MAPPER.writeValueAsString(of(path, configuration.value().value(), wanted));
    }
  }

  private static LogJson of(Path path, Configuration configuration, Wanted wanted)
      throws IOException {
    boolean withMentions = wanted != Wanted.LINES;
    List<String> found = new ArrayList<>();
    ColumnMentions mentions = withMentions ? new ColumnMentions() : null;
    String last = null;
    try (CommitLines lines = new CommitLines(path, configuration)) {
      for (String line; (line = lines.next()) != null; ) {
        if (wanted != Wanted.MENTIONS && KEYS.stream().anyMatch(line::contains)) {
          found.add(line);
        }
        if (withMentions) {
          mentions.addJson(line);
        }
        last = line;
      }
    } catch (ChecksumException changed) {
      if (!withMentions) {
        throw changed;
      }
      String problem = "its checksum is not that of its bytes";
      mentions.fail(problem);
      return new LogJson(List.of(), false, problem, mentions.all());
    }
    boolean isTruncated = last != null && !isJson(last) && isAlone(last, path, configuration);
    if (isTruncated && !found.isEmpty() && found.get(found.size() - 1).equals(last)) {
      found.remove(found.size() - 1);
    }
    return new LogJson(found, isTruncated, null, withMentions ? mentions.all() : null);
  }

  /** Returns whether all lines before the last one are valid JSON. */
  private static boolean isAlone(String last, Path path, Configuration configuration)
      throws IOException {
    try (CommitLines lines = new CommitLines(path, configuration)) {
      for (String line; (line = lines.next()) != null; ) {
        if (!line.equals(last) && !isJson(line)) {
          return false;
        }
      }
    }
    return true;
  }

  private static boolean isJson(String line) {
    try {
      MAPPER.readTree(line);
      return true;
    } catch (JsonProcessingException broken) {
      return false;
    }
  }
}
