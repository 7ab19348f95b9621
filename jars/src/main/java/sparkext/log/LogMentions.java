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
import java.util.Locale;
import java.util.Map;
import java.util.TreeSet;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.ChecksumException;
import org.apache.hadoop.fs.Path;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.api.java.function.FlatMapFunction;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.util.SerializableConfiguration;
import sparkext.commit.CommitLines;
import sparkext.parquet.FileColumn;

/** Finds what each file of a log has data of, in Spark jobs. */
final class LogMentions {
  private static final ObjectMapper MAPPER = new ObjectMapper();

  /** So many files in a task that its own cost does not count. */
  private static final int FILES_PER_TASK = 50;

  private static final StructType ACTIONS =
      StructType.fromDDL(
          "add STRUCT<path: STRING, partitionValues: MAP<STRING, STRING>, stats: STRING>,"
              + " remove STRUCT<path: STRING, partitionValues: MAP<STRING, STRING>, stats: STRING>,"
              + " cdc STRUCT<path: STRING, partitionValues: MAP<STRING, STRING>>,"
              + " metaData STRUCT<schemaString: STRING, configuration: MAP<STRING, STRING>>");

  private final SparkSession session;
  private final JavaSparkContext context;
  private final List<LogFolder.Found> files;
  private final TreeSet<Long> changes;

  /**
   * @param changes the versions that change the table's metadata
   */
  LogMentions(SparkSession session, List<LogFolder.Found> files, List<Long> changes) {
    this.session = session;
    this.context = JavaSparkContext.fromSparkContext(session.sparkContext());
    this.files = files;
    this.changes = new TreeSet<>(changes);
  }

  /** Groups of files that are alike. */
  List<LogFiles> groups(Broadcast<SerializableConfiguration> configuration) throws IOException {
    Map<String, ColumnMentions> found = new LinkedHashMap<>();
    for (LogFolder.Found file : files) {
      ColumnMentions mentions = new ColumnMentions();
      if (file.problem() != null) {
        mentions.fail(file.problem());
      }
      found.put(key(file), mentions);
    }
    List<String> known =
        files.stream().filter(file -> file.problem() == null).map(LogMentions::key).toList();
    collect(new Reading(configuration), known, found);
    collectRows(found);
    return grouped(found);
  }

  private static String key(LogFolder.Found file) {
    return HeldGroups.key(file.path());
  }

  private List<LogFiles> grouped(Map<String, ColumnMentions> found) {
    Map<LogFiles, LogFiles> groups = new LinkedHashMap<>();
    for (LogFolder.Found file : files) {
      Long under = file.version() == null ? null : changes.floor(file.version());
      LogFiles one =
          found
              .get(key(file))
              .in(file.kind().name().toLowerCase(Locale.ROOT), file.version(), under);
      groups.merge(one.common(), one, LogFiles::plus);
    }
    return List.copyOf(groups.values());
  }

  private void collect(Reading reading, List<String> paths, Map<String, ColumnMentions> found)
      throws IOException {
    if (paths.isEmpty()) {
      return;
    }
    int tasks =
        Math.min(
            paths.size(), Math.max(context.defaultParallelism(), paths.size() / FILES_PER_TASK));
    take(context.parallelize(paths, tasks).mapPartitions(reading).collect(), found);
  }

  /** The rows of checkpoints, which only Spark's reader has. */
  private void collectRows(Map<String, ColumnMentions> found) throws IOException {
    List<Path> parquet =
        files.stream()
            .filter(file -> file.isParquet() && !found.get(key(file)).hasFailed())
            .map(LogFolder.Found::path)
            .toList();
    if (!parquet.isEmpty()) {
      take(
          LogReader.parquet(session, ACTIONS, parquet)
              .selectExpr("_metadata.file_path", "to_json(struct(add, remove, cdc, metaData))")
              .toJavaRDD()
              .mapPartitions(new Rows())
              .collect(),
          found);
    }
  }

  private static void take(List<String> texts, Map<String, ColumnMentions> found)
      throws IOException {
    for (String text : texts) {
      int end = text.indexOf('\n');
      ColumnMentions mentions = found.get(normal(text.substring(0, end)));
      mentions.add(MAPPER.readValue(text.substring(end + 1), LogFiles.class));
    }
  }

  private static String normal(String uri) {
    return HeldGroups.key(new Path(URI.create(uri)));
  }

  private static String text(String file, ColumnMentions mentions) throws IOException {
    return file + "\n" + MAPPER.writeValueAsString(mentions.in("", null, null));
  }

  /** Reads files of JSON, and the schemas of those of Parquet. */
  private record Reading(Broadcast<SerializableConfiguration> configuration)
      implements FlatMapFunction<Iterator<String>, String> {
    @Override
    public Iterator<String> call(Iterator<String> paths) throws IOException {
      List<String> texts = new ArrayList<>();
      while (paths.hasNext()) {
        String path = paths.next();
        ColumnMentions mentions = new ColumnMentions();
        Path place = new Path(URI.create(path));
        if (path.endsWith(".parquet")) {
          readSchema(configuration.value().value(), place, mentions);
        } else {
          readLines(configuration.value().value(), place, mentions);
        }
        texts.add(text(path, mentions));
      }
      return texts.iterator();
    }

    private static void readLines(Configuration configuration, Path place, ColumnMentions mentions)
        throws IOException {
      try (CommitLines lines = new CommitLines(place, configuration)) {
        for (String line; (line = lines.next()) != null; ) {
          mentions.addJson(line);
        }
      } catch (ChecksumException broken) {
        mentions.fail("it is not what was written");
      }
    }

    /** Statistics and partition values that stand as structs have their names in the schema. */
    private static void readSchema(Configuration configuration, Path place, ColumnMentions mentions)
        throws IOException {
      long size = place.getFileSystem(configuration).getFileStatus(place).getLen();
      DataFooter footer = DataFooter.of(configuration, place, size);
      if (footer.problem() != null) {
        mentions.fail(footer.problem());
        return;
      }
      for (FileColumn column : footer.columns()) {
        List<String> path = column.path();
        if (path.size() > 3 && path.get(1).equals("stats_parsed")) {
          mentions.addStatistics(path.subList(3, path.size()));
        } else if (path.size() == 3 && path.get(1).equals("partitionValues_parsed")) {
          mentions.addPartitionColumn(path.get(2));
        }
      }
    }
  }

  /** Reads rows, each of which has the file that it is in. */
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
