// SPDX-License-Identifier: Apache-2.0
package sparkext.log;

import java.util.List;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.json.JsonFileFormat;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat;

/** Spark's readers for files of a log, whatever the session's settings for readers are. */
final class LogReader {
  private LogReader() {}

  /** Files of lines of JSON, by the columns of a schema. */
  static Dataset<Row> json(SparkSession session, String schema, List<Path> files) {
    return read(session, JsonFileFormat.class, schema, files);
  }

  /** Parquet files, by the columns of a schema. */
  static Dataset<Row> parquet(SparkSession session, String schema, List<Path> files) {
    return read(session, ParquetFileFormat.class, schema, files);
  }

  /** The class and not the name, behind which the session may have a source without metadata. */
  private static Dataset<Row> read(
      SparkSession session, Class<?> format, String schema, List<Path> files) {
    return session
        .read()
        .format(format.getName())
        .schema(schema)
        // Spark, DataSource.scala, GLOB_PATHS_KEY: a path may have any character.
        .option("__globPaths__", "false")
        .option("mode", "FAILFAST")
        .option("columnNameOfCorruptRecord", "_corrupt_record")
        .option("ignoreCorruptFiles", "false")
        .option("ignoreMissingFiles", "false")
        .load(files.stream().map(Path::toString).toArray(String[]::new));
  }
}
