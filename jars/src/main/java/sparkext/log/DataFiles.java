// SPDX-License-Identifier: Apache-2.0
package sparkext.log;

import java.util.List;
import sparkext.parquet.FileColumn;

/**
 * Files outside of the log that are alike in all that follows their size; {@code DataFiles} of
 * {@code spark_ext/log/places.py} says what each component means.
 */
public record DataFiles(
    String kind,
    long numFiles,
    long sizeInBytes,
    Long removableFrom,
    String source,
    boolean isHidden,
    Long addedUnder,
    List<String> partitionColumns,
    List<String> folders,
    List<List<String>> statistics,
    List<FileColumn> columns,
    String problem) {
  /** What those that are alike have in common. */
  DataFiles common() {
    return of(0, 0, null, source);
  }

  /** One group of two that are alike; the later time is that of both. */
  DataFiles plus(DataFiles other) {
    return of(
        numFiles + other.numFiles,
        sizeInBytes + other.sizeInBytes,
        removableFrom == null || other.removableFrom == null
            ? removableFrom == null ? other.removableFrom : removableFrom
            : Long.valueOf(Math.max(removableFrom, other.removableFrom)),
        source);
  }

  /** The same of another table. */
  DataFiles in(String table) {
    return of(numFiles, sizeInBytes, removableFrom, table);
  }

  private DataFiles of(long files, long size, Long from, String table) {
    return new DataFiles(
        kind,
        files,
        size,
        from,
        table,
        isHidden,
        addedUnder,
        partitionColumns,
        folders,
        statistics,
        columns,
        problem);
  }
}
