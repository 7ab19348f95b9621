// SPDX-License-Identifier: Apache-2.0
package sparkext.log;

import java.io.IOException;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.Row;

/**
 * The copies in a table's folder that no version in the log names, with their deletion vectors. A
 * removal or a purge of a killed driver or of a running driver wrote them.
 *
 * @param newest the time of the newest copy in milliseconds since the epoch; null without copies
 */
public record UnnamedCopies(long numFiles, long sizeInBytes, Long newest) {
  /** Does not match Spark's own names, which have the letter c before the last number. */
  private static final Pattern COPY =
      Pattern.compile(
          ".*/part-\\d{5,}-([0-9a-f-]{19})[0-9a-f-]{17}-\\d+(\\.[a-z0-9_]+)?\\.parquet");

  /** Has the mark of the statement that copied the data file, as {@code CopyPlaces} names it. */
  private static final Pattern VECTOR =
      Pattern.compile(".*/deletion_vector_([0-9a-f-]{19})[0-9a-f-]{17}\\.bin");

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
    List<Row> files = new DataFolder(table, configuration).rows(name -> false);
    Set<String> marks =
        files.stream().flatMap(file -> mark(COPY, file).stream()).collect(Collectors.toSet());
    List<Row> copies =
        files.stream()
            .filter(
                file ->
                    mark(COPY, file)
                        .or(() -> mark(VECTOR, file))
                        .filter(marks::contains)
                        .isPresent())
            .toList();
    if (copies.isEmpty()) {
      return NONE;
    }
    Row found = reading.read().unnamed(copies);
    return new UnnamedCopies(
        found.getAs("numFiles"), found.getAs("sizeInBytes"), found.getAs("newest"));
  }

  /** Returns the part of a name that all copies of one statement have. */
  private static Optional<String> mark(Pattern name, Row file) {
    Matcher found = name.matcher(file.getString(KEY));
    return found.matches() ? Optional.of(found.group(1)) : Optional.empty();
  }
}
