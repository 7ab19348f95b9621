// SPDX-License-Identifier: Apache-2.0
package sparkext.log;

import java.util.List;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.DataFrameReader;
import org.apache.spark.sql.classic.SparkSession;

/** Spark's reader for files of a log, whatever the session's settings for broken files are. */
final class LogReader {
  private LogReader() {}

  static DataFrameReader of(SparkSession session, String schema) {
    return session
        .read()
        .schema(schema)
        // Spark, DataSource.scala, GLOB_PATHS_KEY: a path may have any character.
        .option("__globPaths__", "false")
        .option("mode", "FAILFAST")
        .option("ignoreCorruptFiles", "false")
        .option("ignoreMissingFiles", "false");
  }

  static String[] paths(List<Path> files) {
    return files.stream().map(Path::toString).toArray(String[]::new);
  }
}
