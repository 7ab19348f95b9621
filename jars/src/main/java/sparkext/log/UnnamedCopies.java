// SPDX-License-Identifier: Apache-2.0
package sparkext.log;

import java.io.IOException;
import java.util.List;
import java.util.regex.Pattern;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.Row;

/**
 * The copies of a removal or a purge in a table's folder that no version in the log names: those of
 * a driver that was killed, or of one that runs now.
 *
 * @param newest the time of the newest one in milliseconds since the epoch; null if there is none
 */
public record UnnamedCopies(long numFiles, long sizeInBytes, Long newest) {
  /** Spark's own names end with the letter c and the number of the file in its task. */
  private static final Pattern COPY =
      Pattern.compile(".*/part-\\d{5,}-[0-9a-f-]{36}-\\d+(\\.[a-z0-9_]+)?\\.parquet");

  /** The position in rows of {@link DataFolder}, which have no schema yet. */
  private static final int KEY = DataFolder.SCHEMA.fieldIndex("key");

  private static final UnnamedCopies NONE = new UnnamedCopies(0, 0, null);

  /** Reads the log of a table. */
  public interface Reading {
    TableReading read() throws IOException;
  }

  /**
   * Lists the copies in a table's folder, and reads the log only if there are some.
   *
   * @param reading reads the log after the folder is listed: copies may be committed meanwhile
   */
  public static UnnamedCopies of(Path table, Configuration configuration, Reading reading)
      throws IOException {
    List<Row> copies =
        new DataFolder(table, configuration)
            .rows().stream().filter(file -> COPY.matcher(file.getString(KEY)).matches()).toList();
    if (copies.isEmpty()) {
      return NONE;
    }
    Row found = reading.read().unnamed(copies);
    return new UnnamedCopies(
        found.getAs("numFiles"), found.getAs("sizeInBytes"), found.getAs("newest"));
  }
}
