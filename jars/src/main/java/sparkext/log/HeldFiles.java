// SPDX-License-Identifier: Apache-2.0
package sparkext.log;

import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.expr;
import static org.apache.spark.sql.functions.lit;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.fs.Path;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.api.java.function.FlatMapFunction;
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
 * Every file that a table's log names or that lies in its folder, with what both say of it.
 *
 * <p>Source: Protocol, "Action Reconciliation"; Delta 4.4.0, VacuumCommand.scala.
 */
final class HeldFiles {
  private static final int TASKS_PER_CORE = 8;
  private static final String VECTOR = "deletionVector: " + LoggedVector.FIELDS;
  private static final StructType ACTIONS =
      StructType.fromDDL(
          "add STRUCT<path: STRING, partitionValues: MAP<STRING, STRING>, size: BIGINT, stats: STRING, "
              + VECTOR
              + ">, remove STRUCT<path: STRING, size: BIGINT, deletionTimestamp: BIGINT, "
              + VECTOR
              + ">, cdc STRUCT<path: STRING, size: BIGINT>");

  private final SparkSession session;
  private final Path table;
  private final DataFolder folder;
  private final LogListing log;
  private final List<Long> changes;

  /**
   * @param changes the versions that change the table's metadata, oldest first
   */
  HeldFiles(
      SparkSession session, Path table, DataFolder folder, LogListing log, List<Long> changes) {
    this.session = session;
    this.table = table;
    this.folder = folder;
    this.log = log;
    this.changes = changes;
  }

  /** Groups of files that are alike. */
  List<DataFiles> groups(Broadcast<SerializableConfiguration> configuration) throws IOException {
    JavaSparkContext context = JavaSparkContext.fromSparkContext(session.sparkContext());
    Dataset<Row> logged = logged().alias("logged");
    Dataset<Row> onDisk =
        session
            .createDataset(folder.rows(), Encoders.row(StructType.fromDDL(DataFolder.SCHEMA)))
            .alias("folder");
    return HeldGroups.merged(
        logged
            .join(onDisk, expr("logged.key = folder.key"), "full")
            .select(
                expr("coalesce(logged.key, folder.key)").as("key"),
                col("kind"),
                col("size"),
                col("added"),
                col("removed"),
                col("partitionColumns"),
                col("statistics"),
                col("length"),
                col("time"),
                col("isVector"),
                col("isFolder"),
                col("isHidden"))
            .repartition(context.defaultParallelism() * TASKS_PER_CORE)
            .toJavaRDD()
            .mapPartitions(new HeldGroups(folder.root(), configuration, changes))
            .collect(),
        new SourceTables(configuration.value().value()));
  }

  /** One row a file that the log names. */
  private Dataset<Row> logged() throws IOException {
    LogListing.Checkpoint newest = log.newestCheckpoint();
    long base = newest == null ? -1 : newest.version();
    Dataset<Row> all = actions(commits(), /* isJson= */ true, lit(false), null);
    for (LogListing.Checkpoint checkpoint : log.checkpoints()) {
      Column isBase = lit(checkpoint == newest);
      all =
          all.unionByName(
              actions(checkpoint.parts(), checkpoint.isJson(), isBase, checkpoint.version()));
      List<Path> sidecars = AuditedFiles.sidecars(session, table, checkpoint);
      if (!sidecars.isEmpty()) {
        all = all.unionByName(actions(sidecars, /* isJson= */ false, isBase, checkpoint.version()));
      }
    }
    String counts = "(isBase OR (NOT isCheckpoint AND version > " + base + "))";
    String isNewer = "min(version) FILTER (WHERE isAdd AND isCheckpoint)";
    String added = "min(version) FILTER (WHERE isAdd AND NOT isCheckpoint)";
    return withKeys(all)
        .groupBy("key", "vector")
        .agg(
            expr("max_by(isAdd, version) FILTER (WHERE " + counts + " AND NOT isCdc)").as("isLive"),
            expr("max_by(struct(partitionColumns, statistics), version) FILTER (WHERE "
                    + counts
                    + " AND isAdd)")
                .as("last"),
            expr("max(size)").as("size"),
            expr(added).as("added"),
            expr(isNewer).as("inCheckpoint"),
            expr("max(deletionTimestamp)").as("removed"),
            expr("bool_or(isCdc)").as("isCdc"),
            expr("bool_and(isVector)").as("isVector"))
        .groupBy("key")
        .agg(
            expr("CASE WHEN bool_or(coalesce(isLive, false)) THEN 'live'"
                    + " WHEN bool_and(isCdc) THEN 'changeData' ELSE 'removed' END")
                .as("kind"),
            expr("max(size)").as("size"),
            // What an older checkpoint has came before the commit that added it again.
            expr("CASE WHEN min(inCheckpoint) < min(added) THEN NULL ELSE min(added) END")
                .as("added"),
            expr("max(removed)").as("removed"),
            expr("bool_and(isVector)").as("isVector"),
            expr("max_by(last, isLive) FILTER (WHERE isLive)").as("last"))
        .select(
            "key",
            "kind",
            "size",
            "added",
            "removed",
            "isVector",
            "last.partitionColumns",
            "last.statistics");
  }

  private List<Path> commits() {
    return log.commits().stream().map(LogListing.Commit::path).toList();
  }

  /**
   * @param version of a checkpoint; null for commits
   */
  private Dataset<Row> actions(List<Path> files, boolean isJson, Column isBase, Long version) {
    Dataset<Row> read =
        isJson
            ? LogReader.wholeLines(session, ACTIONS, files)
            : LogReader.parquet(session, ACTIONS, files);
    return read.where("add IS NOT NULL OR remove IS NOT NULL OR cdc IS NOT NULL")
        .select(
            (version == null
                    ? expr("CAST(substring(_metadata.file_name, 1, 20) AS BIGINT)")
                    : lit(version))
                .as("version"),
            lit(version != null).as("isCheckpoint"),
            isBase.as("isBase"),
            expr("coalesce(add.path, remove.path, cdc.path)").as("key"),
            expr("concat_ws('@', v.storageType, v.pathOrInlineDv, v.`offset`)"
                    .replace("v.", "coalesce(add.deletionVector, remove.deletionVector)."))
                .as("vector"),
            expr("coalesce(add.deletionVector, remove.deletionVector)").as("deletionVector"),
            lit(false).as("isVector"),
            expr("add IS NOT NULL").as("isAdd"),
            expr("cdc IS NOT NULL").as("isCdc"),
            expr("coalesce(add.size, remove.size, cdc.size)").as("size"),
            col("remove.deletionTimestamp"),
            expr("coalesce(array_sort(map_keys(add.partitionValues)), array())")
                .as("partitionColumns"),
            col("add.stats").as("statistics"));
  }

  /**
   * Paths as the folder's listing has them, and of statistics their paths alone; and a row more for
   * the file of a deletion vector, which is live as long as one of its data files is.
   */
  private Dataset<Row> withKeys(Dataset<Row> actions) {
    StructType schema = actions.schema();
    String root = folder.root();
    FlatMapFunction<Row, Row> change =
        row -> {
          String key = HeldGroups.key(root, row.getAs("key"));
          Map<String, Object> changes = new HashMap<>();
          changes.put("key", key);
          changes.put("statistics", StatisticsPaths.of(row.getAs("statistics")));
          List<Row> rows = new ArrayList<>(List.of(changed(row, schema, changes)));
          String vector = LoggedVector.path(row.getAs("deletionVector"));
          if (vector != null) {
            changes.put("key", HeldGroups.key(root, vector));
            changes.put("vector", key + "@" + row.getAs("vector"));
            changes.put("isVector", true);
            changes.put("size", null);
            changes.put("partitionColumns", new String[0]);
            changes.put("statistics", StatisticsPaths.of(null));
            rows.add(changed(row, schema, changes));
          }
          return rows.iterator();
        };
    return actions.flatMap(change, Encoders.row(schema));
  }

  private static Row changed(Row row, StructType schema, Map<String, Object> changes) {
    Object[] values = new Object[row.length()];
    for (int i = 0; i < values.length; i++) {
      String name = schema.fields()[i].name();
      values[i] = changes.containsKey(name) ? changes.get(name) : row.get(i);
    }
    return RowFactory.create(values);
  }
}
