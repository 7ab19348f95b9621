// SPDX-License-Identifier: Apache-2.0
package sparkext.log;

import static org.apache.spark.sql.functions.coalesce;
import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.expr;
import static org.apache.spark.sql.functions.lit;
import static org.apache.spark.sql.functions.to_json;
import static org.apache.spark.sql.functions.xxhash64;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
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
import org.apache.spark.sql.types.StructField;
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
  private static final String VECTOR = "deletionVector " + LoggedVector.FIELDS;
  private static final StructType ADD =
      StructType.fromDDL(
          "path STRING, partitionValues MAP<STRING, STRING>, size BIGINT, stats STRING, " + VECTOR);
  private static final StructType REMOVE = StructType.fromDDL("path STRING, " + VECTOR);
  private static final StructType SIDECAR = StructType.fromDDL("path STRING");

  /** Where a checkpoint has statistics as structs, with a type for each column. */
  private static final String STRUCTS = "stats_parsed";

  private final SparkSession session;
  private final Configuration configuration;
  private final Path table;
  private final LogListing log;
  private final List<Path> torn;
  private final List<Long> changes;

  /**
   * @param torn the commits that end with half a line
   * @param changes the versions that change the table's metadata, oldest first
   */
  AuditedFiles(
      SparkSession session,
      Configuration configuration,
      Path table,
      LogListing log,
      List<Path> torn,
      List<Long> changes) {
    this.session = session;
    this.configuration = configuration;
    this.table = table;
    this.log = log;
    this.torn = torn;
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

  /** One row a file: what the log says of it last, and the version that added it. */
  private Dataset<Row> live() {
    LogListing.Checkpoint checkpoint = log.newestCheckpoint();
    long base = checkpoint == null ? -1 : checkpoint.version();
    List<Dataset<Row>> parts = inCommits();
    if (checkpoint != null) {
      parts.addAll(inCheckpoint(checkpoint));
    }
    return parts.stream()
        .reduce(Dataset::unionByName)
        .get()
        .groupBy("path", "vector")
        .agg(
            expr("max_by(struct(isAdd, size, partitionColumns, statistics,"
                    + " deletionVector), version)"
                    + " FILTER (WHERE inCheckpoint OR version > "
                    + base
                    + ")")
                .as("last"),
            expr("max(version) FILTER (WHERE isAdd AND NOT inCheckpoint)").as("added"))
        .where("last.isAdd")
        .select(
            "path",
            "last.size",
            "last.partitionColumns",
            "last.statistics",
            "last.deletionVector",
            "added");
  }

  /** None where log cleanup, or who copied the table, left a checkpoint alone. */
  private List<Dataset<Row>> inCommits() {
    StructType schema = new StructType().add("add", ADD).add("remove", REMOVE);
    List<Path> whole =
        log.commits().stream()
            .map(LogListing.Commit::path)
            .filter(file -> !torn.contains(file))
            .toList();
    List<Dataset<Row>> found = new ArrayList<>();
    if (!whole.isEmpty()) {
      found.add(inCommits(LogReader.json(session, schema, whole)));
    }
    if (!torn.isEmpty()) {
      found.add(inCommits(LogReader.wholeLines(session, schema, torn)));
    }
    return found;
  }

  private static Dataset<Row> inCommits(Dataset<Row> actions) {
    return withStatisticsPaths(
        actions
            .where("add IS NOT NULL OR remove IS NOT NULL")
            .select(
                expr("CAST(substring(_metadata.file_name, 1, 20) AS BIGINT)").as("version"),
                lit(false).as("inCheckpoint"),
                expr("coalesce(add.path, remove.path)").as("path"),
                vector("coalesce(add.deletionVector, remove.deletionVector)"),
                col("add.deletionVector"),
                expr("add IS NOT NULL").as("isAdd"),
                col("add.size").as("size"),
                partitionColumns(),
                col("add.stats").as("statistics")));
  }

  private List<Dataset<Row>> inCheckpoint(LogListing.Checkpoint checkpoint) {
    List<Dataset<Row>> found = new ArrayList<>();
    found.add(adds(checkpoint, checkpoint.parts(), checkpoint.isJson()));
    List<Path> sidecars = sidecars(session, table, checkpoint);
    if (!sidecars.isEmpty()) {
      found.add(adds(checkpoint, sidecars, /* isJson= */ false));
    }
    return found;
  }

  private Dataset<Row> adds(LogListing.Checkpoint checkpoint, List<Path> files, boolean isJson) {
    Optional<StructField> structs = isJson ? Optional.empty() : structs(files);
    StructType add = structs.map(ADD::add).orElse(ADD);
    return withStatisticsPaths(
        read(session, new StructType().add("add", add), files, isJson)
            .where("add IS NOT NULL")
            .select(
                lit(checkpoint.version()).as("version"),
                lit(true).as("inCheckpoint"),
                col("add.path").as("path"),
                vector("add.deletionVector"),
                col("add.deletionVector"),
                lit(true).as("isAdd"),
                col("add.size").as("size"),
                partitionColumns(),
                statistics(structs.isPresent()).as("statistics")));
  }

  /** The field with a file's statistics as structs, if the files of a checkpoint have it. */
  private Optional<StructField> structs(List<Path> files) {
    return field(LogReader.columns(session, files), "add")
        .filter(add -> add.dataType() instanceof StructType)
        .flatMap(add -> field((StructType) add.dataType(), STRUCTS));
  }

  private static Optional<StructField> field(StructType columns, String name) {
    return Arrays.stream(columns.fields()).filter(field -> field.name().equals(name)).findFirst();
  }

  /** As JSON, without the columns of which a file has none, whatever the session does with null. */
  private static Column statistics(boolean hasStructs) {
    Column json = col("add.stats");
    return hasStructs
        ? coalesce(json, to_json(col("add." + STRUCTS), Map.of("ignoreNullFields", "true")))
        : json;
  }

  /** The sidecars that a checkpoint names. */
  static List<Path> sidecars(SparkSession session, Path table, LogListing.Checkpoint checkpoint) {
    if (!checkpoint.mayHaveSidecars()) {
      return List.of();
    }
    List<Path> sidecars = new ArrayList<>();
    read(session, new StructType().add("sidecar", SIDECAR), checkpoint.parts(), checkpoint.isJson())
        .where("sidecar IS NOT NULL")
        .select("sidecar.path")
        .collectAsList()
        .forEach(row -> sidecars.add(LogListing.sidecar(table, row.getString(0))));
    return sidecars;
  }

  private static Dataset<Row> read(
      SparkSession session, StructType schema, List<Path> files, boolean isJson) {
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
