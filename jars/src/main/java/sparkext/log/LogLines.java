// SPDX-License-Identifier: Apache-2.0
package sparkext.log;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.api.java.function.FlatMapFunction;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.util.SerializableConfiguration;
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

  private LogLines() {}

  /**
   * The lines of each file, in the order of the files.
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
        throw UsageTrackingException.sneak(unreadable);
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
    try (BufferedReader lines =
        new BufferedReader(
            new InputStreamReader(
                path.getFileSystem(configuration).open(path), StandardCharsets.UTF_8))) {
      for (String line; (line = lines.readLine()) != null; ) {
        if (KEYS.stream().anyMatch(line::contains)) {
          found.add(line);
        }
      }
    }
    return found;
  }
}
