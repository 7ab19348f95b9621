// SPDX-License-Identifier: Apache-2.0
package sparkext.log;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonMappingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.net.URI;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.api.java.function.Function;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.util.SerializableConfiguration;
import sparkext.common.UsageTrackingException;

/**
 * The actions in one JSON file of a log that are not about files. A task reads each file once.
 *
 * @param actions those of {@link #KINDS}, each as an object whose only key is the kind
 * @param isTruncated whether only the last line is invalid JSON, whose actions are then omitted
 * @param problem why the file could not be read; null otherwise
 */
public record LogJson(List<JsonNode> actions, boolean isTruncated, String problem) {
  /** The actions that are not about files. */
  static final List<String> KINDS = List.of("commitInfo", "protocol", "metaData");

  /** A line without these texts contains no action of these kinds. A key may be escaped. */
  private static final List<String> SIGNS =
      Stream.concat(KINDS.stream(), Stream.of("\\u")).toList();

  /** The driver reads this many files before a job would have begun. */
  private static final int MAX_FILES_WITHOUT_A_JOB = 8;

  /** The reading of this many files takes much longer than the start of a task. */
  static final int FILES_PER_TASK = 50;

  private static final ObjectMapper MAPPER = new ObjectMapper();

  /**
   * Reads files, in a Spark job if there are many. If the storage fails, throws its {@code
   * IOException}; from a job, Spark's exception.
   *
   * @return by file, in the order of the files
   */
  public static Map<Path, LogJson> of(
      JavaSparkContext context, Configuration configuration, Collection<Path> files) {
    Map<Path, LogJson> found = new LinkedHashMap<>();
    try {
      if (files.size() <= MAX_FILES_WITHOUT_A_JOB) {
        for (Path file : files) {
          found.put(file, of(file, configuration));
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
                .map(new Task(broadcast))
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

  private record Task(Broadcast<SerializableConfiguration> configuration)
      implements Function<String, String> {
    @Override
    public String call(String uri) throws IOException {
      Path path = new Path(URI.create(uri));
      return MAPPER.writeValueAsString(of(path, configuration.value().value()));
    }
  }

  private static LogJson of(Path path, Configuration configuration) throws IOException {
    List<JsonNode> found = new ArrayList<>();
    String last = null;
    int lastLine = 0;
    String unread = null;
    int unreadLine = 0;
    try (CommitLines lines = new CommitLines(path, configuration)) {
      for (String line; (line = lines.next()) != null; ) {
        if (SIGNS.stream().anyMatch(line::contains)) {
          String reason = add(line, found);
          if (reason != null && unread == null) {
            unreadLine = lines.number();
            unread = "its line " + unreadLine + " is not an action: " + reason;
          }
        }
        last = line;
        lastLine = lines.number();
      }
    }
    boolean isTruncated = last != null && !isJson(last) && hasOneInvalidLine(path, configuration);
    String problem = isTruncated && unreadLine == lastLine ? null : unread;
    return new LogJson(found, isTruncated, problem);
  }

  /** Adds the actions of a line. Returns why the line cannot be read, or null. */
  private static String add(String line, List<JsonNode> actions) {
    try {
      actions.addAll(actions(CommitLines.JSON.readTree(line)));
      return null;
    } catch (JsonProcessingException broken) {
      return broken.getOriginalMessage();
    }
  }

  /**
   * Returns the actions of an object, each as an object whose only key is the kind.
   *
   * @throws JsonProcessingException it is no object, or an action is no object
   */
  static List<JsonNode> actions(JsonNode object) throws JsonProcessingException {
    if (!object.isObject()) {
      throw new JsonMappingException(null, "it is not an object");
    }
    List<JsonNode> actions = new ArrayList<>();
    for (String kind : KINDS) {
      JsonNode action = object.path(kind);
      if (action.isObject()) {
        actions.add(MAPPER.createObjectNode().set(kind, action));
      } else if (!action.isMissingNode() && !action.isNull()) {
        throw new JsonMappingException(null, kind + " is no object");
      }
    }
    return actions;
  }

  private static boolean hasOneInvalidLine(Path path, Configuration configuration)
      throws IOException {
    int invalid = 0;
    try (CommitLines lines = new CommitLines(path, configuration)) {
      for (String line; (line = lines.next()) != null && invalid < 2; ) {
        invalid += isJson(line) ? 0 : 1;
      }
    }
    return invalid == 1;
  }

  private static boolean isJson(String line) {
    try {
      CommitLines.JSON.readTree(line);
      return true;
    } catch (JsonProcessingException broken) {
      return false;
    }
  }
}
