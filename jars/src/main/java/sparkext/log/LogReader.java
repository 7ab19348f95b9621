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

/** Reads files of a log by Spark's readers, independently of the session's settings. */
final class LogReader {
  private LogReader() {}

  /** Reads files of lines of JSON. An invalid line ends the query. */
  static Dataset<Row> json(SparkSession session, StructType schema, List<Path> files) {
    return load(reader(session, JsonFileFormat.class).schema(schema), files);
  }

  /** Reads the same files without invalid lines. */
  static Dataset<Row> jsonWithoutBrokenLines(
      SparkSession session, StructType schema, List<Path> files) {
    return load(
        reader(session, JsonFileFormat.class).schema(schema).option("mode", "DROPMALFORMED"),
        files);
  }

  /** Reads Parquet files. */
  static Dataset<Row> parquet(SparkSession session, StructType schema, List<Path> files) {
    return load(reader(session, ParquetFileFormat.class).schema(schema), files);
  }

  /** Returns the columns that any of these Parquet files contains. */
  static StructType columns(SparkSession session, List<Path> files) {
    return load(reader(session, ParquetFileFormat.class).option("mergeSchema", true), files)
        .schema();
  }

  /**
   * Uses the class of the source, because its short name may mean a source without metadata
   * columns.
   */
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
