// SPDX-License-Identifier: Apache-2.0
package sparkext.log;

import static org.apache.spark.sql.functions.coalesce;
import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.count;
import static org.apache.spark.sql.functions.expr;
import static org.apache.spark.sql.functions.lit;
import static org.apache.spark.sql.functions.max;
import static org.apache.spark.sql.functions.not;
import static org.apache.spark.sql.functions.to_json;
import static org.apache.spark.sql.functions.when;
import static org.apache.spark.sql.functions.xxhash64;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.apache.hadoop.fs.Path;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import sparkext.log.FileGroups.SourceTables;
import sparkext.log.TableLog.ErasureStart;
import sparkext.log.TableLog.Moment;

/**
 * The data files that a log names, after the reconciliation of actions.
 *
 * <p>Source: Protocol, "Action Reconciliation"; Delta 4.4.0, VacuumCommand.scala.
 *
 * @param truncated commits that are read without their last line, which is incomplete
 */
record FileActions(SparkSession session, LogFolder log, DataFolder folder, List<Path> truncated) {
  private static final int TASKS_PER_CORE = 8;
  private static final String VECTOR = ", deletionVector: " + LoggedVector.FIELDS;
  private static final StructType ACTIONS =
      StructType.fromDDL(
          "add STRUCT<path: STRING, partitionValues: MAP<STRING, STRING>, size: BIGINT, stats: STRING"
              + VECTOR
              + ">, remove STRUCT<path: STRING, size: BIGINT, deletionTimestamp: BIGINT"
              + VECTOR
              + ">, cdc STRUCT<path: STRING, size: BIGINT>");

  private static final StructType SIDECAR = StructType.fromDDL("sidecar STRUCT<path: STRING>");

  /** The column of a checkpoint with statistics as structs. */
  private static final String STRUCTS = "stats_parsed";

  /**
   * Returns the live files, in groups of files that are alike. Columns are built by functions and
   * not from SQL text, because the session may reserve their names.
   *
   * @param sample the number of files whose footers are read; null for all
   */
  List<FileGroup> live(FileGroups groups, Integer sample) throws IOException {
    Dataset<Row> live =
        byVector(
                Stream.ofNullable(log.newestCheckpoint()).toList(),
                /* ofFolder= */ false,
                /* restoring= */ new Object[0])
            .where("isLive")
            .select(
                col("key"),
                lit("live").as("kind"),
                col("last.*"),
                col("lastAdded").as("added"),
                col("isVector"),
                lit(null).cast(DataTypes.LongType).as("length"),
                lit(false).as("isFolder"),
                lit(false).as("isHidden"),
                lit(false).as("isOlder"));
    return grouped(
        sample == null ? live.withColumn("isRead", lit(true)) : sampled(live, sample), groups);
  }

  /** Marks the files whose hashes come first. Both jobs use one RDD, so the log is read once. */
  private Dataset<Row> sampled(Dataset<Row> live, int sample) {
    Dataset<Row> hashed = live.withColumn("hash", xxhash64(col("path")));
    JavaRDD<Row> rows = hashed.toJavaRDD();
    List<Long> first = rows.<Long>map(row -> row.getAs("hash")).takeOrdered(sample);
    Column isRead = first.isEmpty() ? lit(false) : col("hash").leq(first.get(first.size() - 1));
    return session
        .createDataset(rows.rdd(), Encoders.row(hashed.schema()))
        .withColumn("isRead", isRead);
  }

  /**
   * Returns a row for each file that the log names.
   *
   * <p>A file was {@code added} by the first commit that adds it; null if that commit is older than
   * the log. It is removed or has change data {@code at} a version, and was last {@code restored}
   * by one of the given versions. The times are in milliseconds since the epoch: {@code removed} as
   * the writer has it, {@code gone} not before the commit.
   *
   * @param restoring the versions that may add files which were written earlier
   */
  Dataset<Row> history(Object[] restoring) {
    return byVector(log.checkpoints(), /* ofFolder= */ true, restoring)
        .groupBy("key")
        .agg(
            expr("CASE WHEN bool_or(coalesce(isLive, false)) THEN 'live'"
                    + " WHEN bool_and(isCdc) THEN 'changeData' ELSE 'removed' END")
                .as("kind"),
            expr("max(size)").as("size"),
            // A file in an older checkpoint, or one that is first removed, was added before.
            expr("CASE WHEN min(inCheckpoint) < min(firstAdded)"
                    + " OR min(firstRemoved) <= min(firstAdded) THEN NULL ELSE min(firstAdded) END")
                .as("added"),
            max("restored").as("restored"),
            max("at").as("at"),
            max("removed").as("removed"),
            max("gone").as("gone"),
            max("tombstone").as("tombstone"),
            expr("bool_and(isVector)").as("isVector"),
            expr("max_by(last, isLive) FILTER (WHERE isLive)").as("last"));
  }

  /**
   * Returns the moment from which all live files are clean, if those of the newest version are.
   *
   * @param history as {@link #history} returns it
   */
  Moment moment(Dataset<Row> history, ErasureStart start, Object[] restoring) {
    Column isNew =
        coalesce(
            col("added").geq(start.since()).and(not(col("added").isin(restoring))), lit(false));
    Column isRestored =
        start.checked() == null
            ? lit(true)
            : coalesce(col("restored").gt(start.checked()), lit(false));
    Row newest =
        history
            .where("kind = 'removed' AND NOT isVector")
            .where(not(isNew).and(isRestored))
            .agg(max("at"), max("gone"))
            .head();
    return new Moment(
        newest.isNullAt(0) ? start.version() : Math.max(start.version(), newest.getLong(0)),
        newest.isNullAt(1) ? start.time() : Math.max(start.time(), newest.getLong(1)));
  }

  /**
   * Returns the live files and the files in the table's folder, in groups of files that are alike.
   *
   * @param history as {@link #history} returns it
   * @param listed rows of {@link DataFolder}
   */
  List<FileGroup> files(Dataset<Row> history, List<Row> listed, Moment moment, FileGroups groups)
      throws IOException {
    Dataset<Row> onDisk =
        session
            .createDataset(listed, Encoders.row(DataFolder.SCHEMA))
            .withColumnRenamed("key", "onDisk");
    return grouped(
        history
            .join(onDisk, col("key").equalTo(col("onDisk")), "full")
            .where("kind = 'live' OR onDisk IS NOT NULL")
            .select(
                coalesce(col("key"), col("onDisk")).as("key"),
                col("kind"),
                col("last.path"),
                col("size"),
                col("last.partitionColumns"),
                lit(null).cast(DataTypes.StringType).as("statistics"),
                lit(null).cast(DataType.fromDDL(LoggedVector.FIELDS)).as("deletionVector"),
                lit(null).cast(DataTypes.LongType).as("added"),
                col("isVector"),
                col("length"),
                col("isFolder"),
                col("isHidden"),
                isOlder(moment, col("time")).as("isOlder"),
                lit(true).as("isRead")),
        groups);
  }

  /** Returns the number of tombstones in checkpoints, and of those that are not after a moment. */
  Row tombstones(Dataset<Row> history, Moment moment) {
    Column isOlder =
        col("tombstone").gt(moment.version()).and(isOlder(moment, lit(null).cast("long")));
    return history
        .where("NOT isVector")
        .agg(expr("count(tombstone)"), count(when(isOlder, lit(1))))
        .head();
  }

  /** Returns whether a file that is not live was written and removed up to a moment. */
  private static Column isOlder(Moment moment, Column time) {
    return when(col("kind").equalTo("live"), false)
        .when(col("at").isNotNull(), col("at").leq(moment.version()))
        .otherwise(coalesce(col("removed"), time, lit(0L)).leq(moment.time()));
  }

  /**
   * Returns the number, the size and the newest time of listed files that the log does not name.
   */
  Row unnamed(List<Row> listed) {
    Dataset<Row> named =
        withKeys(actions(log.checkpoints(), log.newestCheckpoint()), /* ofFolder= */ true)
            .select(col("key").as("named"));
    Dataset<Row> files = session.createDataset(listed, Encoders.row(DataFolder.SCHEMA));
    return files
        .join(named, col("key").equalTo(col("named")), "left_anti")
        .agg(
            expr("count(*)").as("numFiles"),
            expr("coalesce(sum(length), 0L)").as("sizeInBytes"),
            max("time").as("newest"))
        .head();
  }

  private List<FileGroup> grouped(Dataset<Row> files, FileGroups groups) throws IOException {
    int cores = JavaSparkContext.fromSparkContext(session.sparkContext()).defaultParallelism();
    return FileGroups.merged(
        files.repartition(cores * TASKS_PER_CORE).toJavaRDD().mapPartitions(groups).collect(),
        new SourceTables(groups.configuration().value()));
  }

  /**
   * Returns a row for each pair of a file and its deletion vector.
   *
   * @param ofFolder whether the rows are compared with the table's folder. Then all paths of a file
   *     have one key, and the files of deletion vectors have rows too. Otherwise a relative and an
   *     absolute path are two keys, as for readers of the log.
   * @param restoring as {@link #history}
   */
  private Dataset<Row> byVector(
      List<LogFolder.Checkpoint> checkpoints, boolean ofFolder, Object[] restoring) {
    LogFolder.Checkpoint newest = log.newestCheckpoint();
    String counts =
        "(isBase OR (NOT isCheckpoint AND version > "
            + (newest == null ? -1 : newest.version())
            + "))";
    return withKeys(actions(checkpoints, newest), ofFolder)
        .groupBy("key", "vector")
        .agg(
            expr("max_by(isAdd, version) FILTER (WHERE " + counts + " AND NOT isCdc)").as("isLive"),
            expr("max_by(struct(path, size, partitionColumns, statistics, deletionVector), version)"
                    + " FILTER (WHERE "
                    + counts
                    + " AND isAdd)")
                .as("last"),
            expr("max(size)").as("size"),
            expr("min(version) FILTER (WHERE isAdd AND NOT isCheckpoint)").as("firstAdded"),
            expr("max(version) FILTER (WHERE isAdd AND NOT isCheckpoint)").as("lastAdded"),
            expr("min(version) FILTER (WHERE isAdd AND isCheckpoint)").as("inCheckpoint"),
            max(when(
                    expr("isAdd AND NOT isCheckpoint").and(col("version").isin(restoring)),
                    col("version")))
                .as("restored"),
            expr("min(version) FILTER (WHERE isRemove AND NOT isCheckpoint)").as("firstRemoved"),
            expr("max(version) FILTER (WHERE NOT isAdd AND NOT isCheckpoint)").as("at"),
            expr("max(version) FILTER (WHERE isRemove AND isCheckpoint)").as("tombstone"),
            expr("max(deletionTimestamp)").as("removed"),
            expr("max(greatest(deletionTimestamp, committed)) FILTER (WHERE isRemove)").as("gone"),
            expr("bool_or(isCdc)").as("isCdc"),
            expr("bool_and(isVector)").as("isVector"));
  }

  /** Returns a row for each action on a file. */
  private Dataset<Row> actions(
      List<LogFolder.Checkpoint> checkpoints, LogFolder.Checkpoint newest) {
    List<Dataset<Row>> found = new ArrayList<>();
    List<Path> whole =
        log.commits().stream()
            .map(LogFile::path)
            .filter(file -> !truncated.contains(file))
            .toList();
    // After log cleanup, or in a copy of the table, there may be no commit.
    if (!whole.isEmpty()) {
      found.add(ofCommits(LogReader.json(session, ACTIONS, whole)));
    }
    if (!truncated.isEmpty()) {
      found.add(ofCommits(LogReader.jsonWithoutBrokenLines(session, ACTIONS, truncated)));
    }
    for (LogFolder.Checkpoint checkpoint : checkpoints) {
      boolean isBase = checkpoint == newest;
      found.add(ofCheckpoint(checkpoint, checkpoint.parts(), checkpoint.isJson(), isBase));
      List<Path> sidecars = sidecars(checkpoint);
      if (!sidecars.isEmpty()) {
        found.add(ofCheckpoint(checkpoint, sidecars, /* isJson= */ false, isBase));
      }
    }
    return found.stream().reduce(Dataset::unionByName).get();
  }

  private static Dataset<Row> ofCommits(Dataset<Row> commits) {
    Column version = col("_metadata.file_name").substr(1, 20).cast(DataTypes.LongType);
    Column committed = expr("unix_millis(_metadata.file_modification_time)");
    return selected(commits, version, committed, lit(false), lit(false), col("add.stats"));
  }

  private Dataset<Row> ofCheckpoint(
      LogFolder.Checkpoint checkpoint, List<Path> files, boolean isJson, boolean isBase) {
    Optional<StructField> structs = isJson || !isBase ? Optional.empty() : structs(files);
    StructType schema = new StructType();
    for (StructField action : ACTIONS.fields()) {
      StructType fields = (StructType) action.dataType();
      boolean hasStructs = action.name().equals("add") && structs.isPresent();
      schema = schema.add(action.name(), hasStructs ? fields.add(structs.get()) : fields);
    }
    // Columns without statistics are omitted under every setting of the session for null.
    Column statistics =
        structs.isEmpty()
            ? col("add.stats")
            : coalesce(
                col("add.stats"),
                to_json(col("add." + STRUCTS), Map.of("ignoreNullFields", "true")));
    return selected(
        read(schema, files, isJson),
        lit(checkpoint.version()),
        lit(null).cast(DataTypes.LongType),
        lit(true),
        lit(isBase),
        statistics);
  }

  private Dataset<Row> read(StructType schema, List<Path> files, boolean isJson) {
    return isJson
        ? LogReader.json(session, schema, files)
        : LogReader.parquet(session, schema, files);
  }

  private static Dataset<Row> selected(
      Dataset<Row> actions,
      Column version,
      Column committed,
      Column isCheckpoint,
      Column isBase,
      Column statistics) {
    return actions
        .where("add IS NOT NULL OR remove IS NOT NULL OR cdc IS NOT NULL")
        .withColumn("v", expr("coalesce(add.deletionVector, remove.deletionVector)"))
        .select(
            version.as("version"),
            committed.as("committed"),
            isCheckpoint.as("isCheckpoint"),
            isBase.as("isBase"),
            lit("").as("key"),
            expr("coalesce(add.path, remove.path, cdc.path)").as("path"),
            // Protocol, "Deletion Vectors": this and the path identify a file.
            expr("concat_ws('@', v.storageType, v.pathOrInlineDv, v.`offset`)").as("vector"),
            col("v").as("deletionVector"),
            lit(false).as("isVector"),
            expr("add IS NOT NULL").as("isAdd"),
            expr("cdc IS NOT NULL").as("isCdc"),
            expr("remove IS NOT NULL").as("isRemove"),
            expr("coalesce(add.size, remove.size, cdc.size)").as("size"),
            col("remove.deletionTimestamp"),
            expr("coalesce(array_sort(map_keys(add.partitionValues)), array())")
                .as("partitionColumns"),
            statistics.as("statistics"));
  }

  /** Returns the field with a file's statistics as structs if the files of a checkpoint have it. */
  private Optional<StructField> structs(List<Path> files) {
    return Arrays.stream(LogReader.columns(session, files).fields())
        .filter(field -> field.name().equals("add"))
        .flatMap(add -> add.dataType() instanceof StructType of ? Arrays.stream(of.fields()) : null)
        .filter(field -> field.name().equals(STRUCTS))
        .findFirst();
  }

  List<Path> sidecars(LogFolder.Checkpoint checkpoint) {
    if (!checkpoint.mayHaveSidecars()) {
      return List.of();
    }
    return read(SIDECAR, checkpoint.parts(), checkpoint.isJson())
        .where("sidecar IS NOT NULL")
        .select("sidecar.path")
        .collectAsList()
        .stream()
        .map(row -> log.sidecar(row.getString(0)))
        .toList();
  }

  private Dataset<Row> withKeys(Dataset<Row> actions, boolean ofFolder) {
    StructType schema = actions.schema();
    return actions.flatMap(
        new FileKeys(folder.root(), folder.defaultStorage(), schema, ofFolder),
        Encoders.row(schema));
  }
}
