// SPDX-License-Identifier: Apache-2.0
package sparkext.log;

import java.util.List;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.classic.DataFrameReader;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.json.JsonFileFormat;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat;
import org.apache.spark.sql.types.StructType;

/** Spark's readers for files of a log, whatever the session's settings for readers are. */
final class LogReader {
  private LogReader() {}

  /** Files of lines of JSON, by the columns of a schema. */
  static Dataset<Row> json(SparkSession session, StructType schema, List<Path> files) {
    return load(reader(session, JsonFileFormat.class).schema(schema), files);
  }

  /** The same without the lines that are no JSON. */
  static Dataset<Row> wholeLines(SparkSession session, StructType schema, List<Path> files) {
    return load(
        reader(session, JsonFileFormat.class).schema(schema).option("mode", "DROPMALFORMED"),
        files);
  }

  /** Parquet files, by the columns of a schema. */
  static Dataset<Row> parquet(SparkSession session, StructType schema, List<Path> files) {
    return load(reader(session, ParquetFileFormat.class).schema(schema), files);
  }

  /** The columns that any of these Parquet files has. */
  static StructType columns(SparkSession session, List<Path> files) {
    return load(reader(session, ParquetFileFormat.class).option("mergeSchema", true), files)
        .schema();
  }

  /** The class and not the name, behind which the session may have a source without metadata. */
  private static DataFrameReader reader(SparkSession session, Class<?> format) {
    return session
        .read()
        .format(format.getName())
        // Spark, DataSource.scala, GLOB_PATHS_KEY: a path may have any character.
        .option("__globPaths__", "false")
        .option("mode", "FAILFAST")
        .option("columnNameOfCorruptRecord", "_corrupt_record")
        .option("ignoreCorruptFiles", "false")
        .option("ignoreMissingFiles", "false");
  }

  private static Dataset<Row> load(DataFrameReader reader, List<Path> files) {
    return reader.load(files.stream().map(Path::toString).toArray(String[]::new));
  }
}
