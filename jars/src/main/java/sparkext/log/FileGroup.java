// SPDX-License-Identifier: Apache-2.0
package sparkext.log;

import java.util.List;
import sparkext.parquet.FileColumn;

/**
 * Files outside of the log with equal values in all components after {@code removableFrom}, except
 * {@code vector}; {@code FileGroup} of {@code spark_ext/log/actions.py} documents each component.
 */
public record FileGroup(
    String example,
    long numFiles,
    long sizeInBytes,
    Long removableFrom,
    String kind,
    String source,
    boolean isHidden,
    Long addedUnder,
    List<String> partitionColumns,
    List<String> folders,
    List<List<String>> statistics,
    List<FileColumn> columns,
    String problem,
    String vector,
    String vectorProblem) {
  /** Returns the components that all files of the group share. */
  FileGroup common() {
    return of("", null, 0, 0, null, source);
  }

  /**
   * Joins two groups of files that are alike. The result has the first example in order, and the
   * later time.
   */
  FileGroup plus(FileGroup other) {
    FileGroup first = other.example.compareTo(example) < 0 ? other : this;
    return of(
        first.example,
        first.vector,
        numFiles + other.numFiles,
        sizeInBytes + other.sizeInBytes,
        later(removableFrom, other.removableFrom),
        source);
  }

  /** Returns the same group with another table as its source. */
  FileGroup in(String table) {
    return of(example, vector, numFiles, sizeInBytes, removableFrom, table);
  }

  /** Returns the later of two times; the other one if one is null. */
  static Long later(Long one, Long other) {
    if (one == null || other == null) {
      return one == null ? other : one;
    }
    return Math.max(one, other);
  }

  private FileGroup of(
      String path, String itsVector, long files, long size, Long from, String table) {
    return new FileGroup(
        path,
        files,
        size,
        from,
        kind,
        table,
        isHidden,
        addedUnder,
        partitionColumns,
        folders,
        statistics,
        columns,
        problem,
        itsVector,
        vectorProblem);
  }
}
