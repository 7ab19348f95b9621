// SPDX-License-Identifier: Apache-2.0
package sparkext.log;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.types.StructType;

/** The actions of a log that are not about files, by the file of the log that contains them. */
final class MetadataActions {
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final StructType SCHEMA =
      StructType.fromDDL(
          "protocol STRUCT<minReaderVersion: INT, minWriterVersion: INT, readerFeatures:"
              + " ARRAY<STRING>, writerFeatures: ARRAY<STRING>>, metaData STRUCT<id: STRING,"
              + " schemaString: STRING, partitionColumns: ARRAY<STRING>, configuration: MAP<STRING,"
              + " STRING>>");

  private final Map<Path, List<JsonNode>> found = new HashMap<>();

  /**
   * Reads the checkpoints of a log that are Parquet files.
   *
   * @param json the JSON files of the log
   */
  MetadataActions(SparkSession session, LogFolder log, Map<Path, LogJson> json) {
    log.jsonFiles().forEach(file -> found.put(file, json.get(file).actions()));
    List<Path> checkpoints = log.parquetFiles();
    if (!checkpoints.isEmpty()) {
      Map<String, Path> byName = new HashMap<>();
      checkpoints.forEach(file -> byName.put(file.getName(), file));
      LogReader.parquet(session, SCHEMA, checkpoints)
          .where("protocol IS NOT NULL OR metaData IS NOT NULL")
          .selectExpr("_metadata.file_name", "to_json(struct(protocol, metaData))")
          .collectAsList()
          .forEach(row -> add(byName.get(row.getString(0)), row.getString(1)));
    }
  }

  /** Returns the actions of files, each as an object whose only key is the kind. */
  List<JsonNode> in(List<Path> files) {
    return files.stream().flatMap(file -> found.getOrDefault(file, List.of()).stream()).toList();
  }

  /** Adds the actions of a row of a checkpoint. */
  private void add(Path file, String row) {
    try {
      JsonNode actions = MAPPER.readTree(row);
      found.computeIfAbsent(file, none -> new ArrayList<>()).addAll(LogJson.actions(actions));
    } catch (JsonProcessingException impossible) {
      throw new IllegalStateException(impossible);
    }
  }
}
