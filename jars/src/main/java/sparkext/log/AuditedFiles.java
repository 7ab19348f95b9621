// SPDX-License-Identifier: Apache-2.0
package sparkext.log;

import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.expr;
import static org.apache.spark.sql.functions.lit;
import static org.apache.spark.sql.functions.xxhash64;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.api.java.function.MapFunction;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.util.SerializableConfiguration;

/**
 * The data files of a table's newest version, as readers find them: what the newest checkpoint has,
 * and what the commits after it add and remove.
 *
 * <p>Source: Protocol, "Action Reconciliation".
 */
final class AuditedFiles {
  private static final int TASKS_PER_CORE = 8;
  private static final String VECTOR =
      "deletionVector: STRUCT<storageType: STRING, pathOrInlineDv: STRING, `offset`: INT>";
  private static final String ADD =
      "add STRUCT<path: STRING, partitionValues: MAP<STRING, STRING>, size: BIGINT, stats: STRING, "
          + VECTOR
          + ">";
  private static final String REMOVE = "remove STRUCT<path: STRING, " + VECTOR + ">";
  private static final String SIDECAR = "sidecar STRUCT<path: STRING>";

  private final SparkSession session;
  private final Configuration configuration;
  private final Path table;
  private final LogListing log;
  private final List<Long> changes;

  /**
   * @param changes the versions that change the table's metadata, oldest first
   */
  AuditedFiles(
      SparkSession session,
      Configuration configuration,
      Path table,
      LogListing log,
      List<Long> changes) {
    this.session = session;
    this.configuration = configuration;
    this.table = table;
    this.log = log;
    this.changes = changes;
  }

  /**
   * Groups of files that are alike.
   *
   * @param sample of so many files the footers are read; null for all
   */
  List<FileGroup> groups(Integer sample) throws IOException {
    JavaSparkContext context = JavaSparkContext.fromSparkContext(session.sparkContext());
    Dataset<Row> live = live();
    Column isRead = lit(true);
    if (sample != null) {
      Dataset<Row> hashes = live.select(xxhash64(col("path")).as("hash")).orderBy("hash");
      List<Row> last = hashes.limit(sample).orderBy(col("hash").desc()).limit(1).collectAsList();
      isRead = last.isEmpty() ? lit(false) : xxhash64(col("path")).leq(last.get(0).getLong(0));
    }
    Broadcast<SerializableConfiguration> broadcast =
        context.broadcast(new SerializableConfiguration(configuration));
    try {
      return FileGroups.merged(
          live.withColumn("isRead", isRead)
              .repartition(context.defaultParallelism() * TASKS_PER_CORE)
              .toJavaRDD()
              .mapPartitions(new FileGroups(table.toUri().toString(), broadcast, changes))
              .collect());
    } finally {
      broadcast.destroy();
    }
  }

  /** One row a file: path, size, partition columns, statistics, and the version that added it. */
  private Dataset<Row> live() {
    LogListing.Checkpoint checkpoint = log.newestCheckpoint();
    Dataset<Row> all = inCommits();
    long base = -1;
    if (checkpoint != null) {
      base = checkpoint.version();
      all = all.unionByName(inCheckpoint(checkpoint));
    }
    return all.groupBy("path", "vector")
        .agg(
            expr("max_by(struct(isAdd, size, partitionColumns, statistics), version)"
                    + " FILTER (WHERE inCheckpoint OR version > "
                    + base
                    + ")")
                .as("last"),
            expr("max(version) FILTER (WHERE isAdd AND NOT inCheckpoint)").as("added"))
        .where("last.isAdd")
        .select("path", "last.size", "last.partitionColumns", "last.statistics", "added");
  }

  private Dataset<Row> inCommits() {
    List<Path> files = log.commits().stream().map(LogListing.Commit::path).toList();
    Dataset<Row> actions = LogReader.json(session, ADD + ", " + REMOVE, files);
    return withStatisticsPaths(
        actions
            .where("add IS NOT NULL OR remove IS NOT NULL")
            .select(
                expr("CAST(substring(_metadata.file_name, 1, 20) AS BIGINT)").as("version"),
                lit(false).as("inCheckpoint"),
                expr("coalesce(add.path, remove.path)").as("path"),
                vector("coalesce(add.deletionVector, remove.deletionVector)"),
                expr("add IS NOT NULL").as("isAdd"),
                col("add.size").as("size"),
                partitionColumns(),
                col("add.stats").as("statistics")));
  }

  private Dataset<Row> inCheckpoint(LogListing.Checkpoint checkpoint) {
    Dataset<Row> found = adds(checkpoint, checkpoint.parts(), checkpoint.isJson());
    List<Path> sidecars = sidecars(checkpoint);
    return sidecars.isEmpty()
        ? found
        : found.unionByName(adds(checkpoint, sidecars, /* isJson= */ false));
  }

  private Dataset<Row> adds(LogListing.Checkpoint checkpoint, List<Path> files, boolean isJson) {
    return withStatisticsPaths(
        read(ADD, files, isJson)
            .where("add IS NOT NULL")
            .select(
                lit(checkpoint.version()).as("version"),
                lit(true).as("inCheckpoint"),
                col("add.path").as("path"),
                vector("add.deletionVector"),
                lit(true).as("isAdd"),
                col("add.size").as("size"),
                partitionColumns(),
                col("add.stats").as("statistics")));
  }

  private List<Path> sidecars(LogListing.Checkpoint checkpoint) {
    if (!checkpoint.mayHaveSidecars()) {
      return List.of();
    }
    List<Path> sidecars = new ArrayList<>();
    read(SIDECAR, checkpoint.parts(), checkpoint.isJson())
        .where("sidecar IS NOT NULL")
        .select("sidecar.path")
        .collectAsList()
        .forEach(row -> sidecars.add(LogListing.sidecar(table, row.getString(0))));
    return sidecars;
  }

  private Dataset<Row> read(String schema, List<Path> files, boolean isJson) {
    return isJson
        ? LogReader.json(session, schema, files)
        : LogReader.parquet(session, schema, files);
  }

  /** The statistics themselves are most of a log, and need not be shuffled. */
  private static Dataset<Row> withStatisticsPaths(Dataset<Row> actions) {
    StructType schema = actions.schema();
    int place = schema.fieldIndex("statistics");
    MapFunction<Row, Row> paths =
        row -> {
          Object[] values = new Object[row.length()];
          for (int i = 0; i < values.length; i++) {
            values[i] = i == place ? StatisticsPaths.of(row.getString(i)) : row.get(i);
          }
          return RowFactory.create(values);
        };
    return actions.map(paths, Encoders.row(schema));
  }

  /** Source: Protocol, "Deletion Vectors": a file's unique id is its path and this. */
  private static Column vector(String of) {
    return expr("concat_ws('@', {v}.storageType, {v}.pathOrInlineDv, {v}.`offset`)"
            .replace("{v}", of))
        .as("vector");
  }

  private static Column partitionColumns() {
    return expr("coalesce(array_sort(map_keys(add.partitionValues)), array())")
        .as("partitionColumns");
  }
}
