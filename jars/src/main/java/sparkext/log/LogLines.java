// SPDX-License-Identifier: Apache-2.0
package sparkext.log;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.net.URI;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.api.java.function.FlatMapFunction;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.util.SerializableConfiguration;
import sparkext.commit.CommitLines;
import sparkext.error.UsageTrackingException;

/**
 * Finds the lines of JSON files of a log that say what a table's metadata is; where there are many,
 * in a Spark job.
 */
public final class LogLines {
  /** So few are read before a job has begun. */
  private static final int MAX_FILES_WITHOUT_A_JOB = 8;

  /** So many files in a task that its own cost does not count. */
  private static final int FILES_PER_TASK = 50;

  /** The actions. */
  static final List<String> KINDS = List.of("commitInfo", "protocol", "metaData");

  /** In quotes as a key has them: in a text inside JSON they would be escaped. */
  private static final List<String> KEYS = KINDS.stream().map(kind -> '"' + kind + '"').toList();

  /**
   * In the place of a last line that is no JSON, after lines that are: a file that is cut short.
   */
  public static final String TORN = "";

  private static final ObjectMapper MAPPER = new ObjectMapper();

  private LogLines() {}

  /**
   * The lines of each file, in the order of the files, and {@link #TORN} after those of a file that
   * is cut short.
   *
   * @throws UsageTrackingException a failure of the storage; from a job, Spark's exception
   */
  public static List<List<String>> of(
      JavaSparkContext context, Configuration configuration, List<Path> files) {
    List<List<String>> lines = new ArrayList<>();
    if (files.size() <= MAX_FILES_WITHOUT_A_JOB) {
      try {
        for (Path file : files) {
          lines.add(of(file, configuration));
        }
        return lines;
      } catch (IOException unreadable) {
        throw UsageTrackingException.sneakyThrow(unreadable);
      }
    }
    files.forEach(file -> lines.add(new ArrayList<>()));
    // Texts only: every serializer that an application sets knows them.
    List<String> numbered = new ArrayList<>();
    for (Path file : files) {
      numbered.add(numbered.size() + " " + file.toUri());
    }
    int tasks =
        Math.min(
            files.size(), Math.max(context.defaultParallelism(), files.size() / FILES_PER_TASK));
    Broadcast<SerializableConfiguration> broadcast =
        context.broadcast(new SerializableConfiguration(configuration));
    try {
      for (String found :
          context.parallelize(numbered, tasks).flatMap(new Task(broadcast)).collect()) {
        int end = found.indexOf(' ');
        lines.get(Integer.parseInt(found.substring(0, end))).add(found.substring(end + 1));
      }
    } finally {
      broadcast.destroy();
    }
    return lines;
  }

  private record Task(Broadcast<SerializableConfiguration> configuration)
      implements FlatMapFunction<String, String> {
    @Override
    public Iterator<String> call(String numbered) throws IOException {
      int end = numbered.indexOf(' ');
      Path path = new Path(URI.create(numbered.substring(end + 1)));
      String number = numbered.substring(0, end + 1);
      return of(path, configuration.value().value()).stream().map(number::concat).iterator();
    }
  }

  private static List<String> of(Path path, Configuration configuration) throws IOException {
    List<String> found = new ArrayList<>();
    String last = TORN;
    try (CommitLines lines = new CommitLines(path, configuration)) {
      for (String line; (line = lines.next()) != null; ) {
        if (KEYS.stream().anyMatch(line::contains)) {
          found.add(line);
        }
        last = line;
      }
    }
    if (!isJson(last) && isAlone(last, path, configuration)) {
      if (!found.isEmpty() && found.get(found.size() - 1).equals(last)) {
        found.remove(found.size() - 1);
      }
      found.add(TORN);
    }
    return found;
  }

  /** Whether no other line is broken. */
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
