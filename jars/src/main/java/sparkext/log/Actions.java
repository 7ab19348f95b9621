// SPDX-License-Identifier: Apache-2.0
package sparkext.log;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.types.StructType;
import sparkext.error.UsageTrackingErrors;

/** The actions of a log that are not about files, by the file of the log that has them. */
final class Actions {
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final String SCHEMA =
      "protocol STRUCT<minReaderVersion: INT, minWriterVersion: INT, readerFeatures: ARRAY<STRING>,"
          + " writerFeatures: ARRAY<STRING>>, metaData STRUCT<id: STRING, schemaString: STRING,"
          + " partitionColumns: ARRAY<STRING>, configuration: MAP<STRING, STRING>>";

  private final Map<Path, List<JsonNode>> found = new HashMap<>();
  private final Set<Path> torn = new HashSet<>();

  private Actions() {}

  /** Reads every file of a log. */
  static Actions of(SparkSession session, Configuration configuration, LogListing log) {
    Actions actions = new Actions();
    actions.addJson(session, configuration, log.jsonFiles());
    actions.addParquet(session, log.parquetFiles());
    return actions;
  }

  /** Each an object of one key, its kind. */
  List<JsonNode> in(List<Path> files) {
    return files.stream().flatMap(file -> found.getOrDefault(file, List.of()).stream()).toList();
  }

  /** Whether a file ends with half a line. */
  boolean isTorn(Path file) {
    return torn.contains(file);
  }

  static boolean has(List<JsonNode> actions, String kind) {
    return actions.stream().anyMatch(action -> action.has(kind));
  }

  private void addJson(SparkSession session, Configuration configuration, List<Path> files) {
    JavaSparkContext context = JavaSparkContext.fromSparkContext(session.sparkContext());
    List<List<String>> lines = LogLines.of(context, configuration, files);
    for (int number = 0; number < files.size(); number++) {
      for (String line : lines.get(number)) {
        if (line.equals(LogLines.TORN)) {
          torn.add(files.get(number));
        } else {
          add(files.get(number), line);
        }
      }
    }
  }

  private void addParquet(SparkSession session, List<Path> files) {
    Map<String, Path> byName = new HashMap<>();
    files.forEach(file -> byName.put(file.getName(), file));
    if (files.isEmpty()) {
      return;
    }
    List<Row> rows =
        LogReader.parquet(session, StructType.fromDDL(SCHEMA), files)
            .where("protocol IS NOT NULL OR metaData IS NOT NULL")
            .selectExpr("_metadata.file_name", "to_json(struct(protocol, metaData))")
            .collectAsList();
    rows.forEach(row -> add(byName.get(row.getString(0)), row.getString(1)));
  }

  private void add(Path file, String line) {
    JsonNode parsed;
    try {
      parsed = MAPPER.readTree(line);
    } catch (JsonProcessingException broken) {
      String reason = "it has a line that is no JSON: " + broken.getOriginalMessage();
      throw UsageTrackingErrors.unreadableLog(file.toString(), reason).sneakyThrow();
    }
    for (String kind : LogLines.KINDS) {
      if (parsed.path(kind).isObject()) {
        found
            .computeIfAbsent(file, none -> new ArrayList<>())
            .add(MAPPER.createObjectNode().set(kind, parsed.get(kind)));
      }
    }
  }
}
