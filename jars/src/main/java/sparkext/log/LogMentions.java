// SPDX-License-Identifier: Apache-2.0
package sparkext.log;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.net.URI;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.apache.hadoop.fs.Path;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.api.java.function.FlatMapFunction;
import org.apache.spark.api.java.function.Function;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.util.SerializableConfiguration;
import sparkext.parquet.FileColumn;

/**
 * Finds the columns of which each file of a log may contain data. Those of JSON files are known
 * already; Spark jobs read the checkpoints that are Parquet files.
 */
record LogMentions(SparkSession session, LogFolder log, Map<Path, LogJson> json) {
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final StructType ACTIONS =
      StructType.fromDDL(
          "add STRUCT<path: STRING, partitionValues: MAP<STRING, STRING>, stats: STRING>,"
              + " remove STRUCT<path: STRING, partitionValues: MAP<STRING, STRING>, stats: STRING>,"
              + " cdc STRUCT<path: STRING, partitionValues: MAP<STRING, STRING>>,"
              + " metaData STRUCT<schemaString: STRING, configuration: MAP<STRING, STRING>>");

  /** Returns the files of a log that are not empty. */
  static List<LogFile> read(LogFolder log) {
    return log.files().stream().filter(file -> file.length() > 0).toList();
  }

  /**
   * Returns groups of files that are alike.
   *
   * @param changes the versions that change the table's metadata
   */
  List<LogFiles> groups(Broadcast<SerializableConfiguration> configuration, List<Long> changes)
      throws IOException {
    Map<LogFile, ColumnMentions> found = new LinkedHashMap<>();
    for (LogFile file : read(log)) {
      ColumnMentions mentions = new ColumnMentions();
      if (file.problem() != null) {
        mentions.fail(file.problem());
      } else if (!file.isParquet()) {
        mentions.add(json.get(file.path()).mentions());
      }
      found.put(file, mentions);
    }
    addParquet(configuration, found);
    TreeSet<Long> versions = new TreeSet<>(changes);
    Map<LogFiles, LogFiles> groups = new LinkedHashMap<>();
    found.forEach(
        (file, mentions) -> {
          Long under = file.version() == null ? null : versions.floor(file.version());
          LogFiles one = mentions.in(file.kind().text(), file.length(), file.version(), under);
          groups.merge(one.common(), one, LogFiles::plus);
        });
    return List.copyOf(groups.values());
  }

  private void addParquet(
      Broadcast<SerializableConfiguration> configuration, Map<LogFile, ColumnMentions> found)
      throws IOException {
    Map<String, ColumnMentions> parquet = new LinkedHashMap<>();
    found.forEach(
        (file, mentions) -> {
          if (file.isParquet() && file.problem() == null) {
            parquet.put(DataFolder.key(file.path()), mentions);
          }
        });
    if (parquet.isEmpty()) {
      return;
    }
    JavaSparkContext context = JavaSparkContext.fromSparkContext(session.sparkContext());
    List<String> keys = List.copyOf(parquet.keySet());
    add(
        context
            .parallelize(keys, LogJson.tasks(context, keys.size()))
            .map(new Schemas(configuration))
            .collect(),
        parquet);
    List<Path> readable =
        keys.stream()
            .filter(key -> !parquet.get(key).hasFailed())
            .map(key -> new Path(URI.create(key)))
            .toList();
    if (!readable.isEmpty()) {
      add(
          LogReader.parquet(session, ACTIONS, readable)
              .selectExpr("_metadata.file_path", "to_json(struct(add, remove, cdc, metaData))")
              .toJavaRDD()
              .mapPartitions(new Rows())
              .collect(),
          parquet);
    }
  }

  private static void add(List<String> texts, Map<String, ColumnMentions> found)
      throws IOException {
    for (String text : texts) {
      int end = text.indexOf('\n');
      found
          .get(DataFolder.key(new Path(URI.create(text.substring(0, end)))))
          .add(MAPPER.readValue(text.substring(end + 1), LogFiles.class));
    }
  }

  private static String text(String file, ColumnMentions mentions) throws IOException {
    return file + "\n" + MAPPER.writeValueAsString(mentions.all());
  }

  /** Reads schemas, which name the columns of statistics and partition values that are structs. */
  private record Schemas(Broadcast<SerializableConfiguration> configuration)
      implements Function<String, String> {
    @Override
    public String call(String file) throws IOException {
      Path place = new Path(URI.create(file));
      ColumnMentions mentions = new ColumnMentions();
      var hadoop = configuration.value().value();
      long size = place.getFileSystem(hadoop).getFileStatus(place).getLen();
      DataFooter footer = DataFooter.of(hadoop, place, size);
      if (footer.problem() != null) {
        mentions.fail(footer.problem());
        return text(file, mentions);
      }
      for (FileColumn column : footer.columns()) {
        List<String> path = column.path();
        if (path.size() > 3 && path.get(1).equals("stats_parsed")) {
          mentions.addStatistics(path.subList(3, path.size()));
        } else if (path.size() == 3 && path.get(1).equals("partitionValues_parsed")) {
          mentions.addPartitionColumn(path.get(2));
        }
      }
      return text(file, mentions);
    }
  }

  /** Reads rows. The first column of a row is the path of the file that contains the row. */
  private static final class Rows implements FlatMapFunction<Iterator<Row>, String> {
    private static final long serialVersionUID = 1L;

    @Override
    public Iterator<String> call(Iterator<Row> rows) throws IOException {
      Map<String, ColumnMentions> found = new HashMap<>();
      while (rows.hasNext()) {
        Row row = rows.next();
        found
            .computeIfAbsent(row.getString(0), none -> new ColumnMentions())
            .addJson(row.getString(1));
      }
      List<String> texts = new ArrayList<>();
      for (Map.Entry<String, ColumnMentions> file : found.entrySet()) {
        texts.add(text(file.getKey(), file.getValue()));
      }
      return texts.iterator();
    }
  }
}
