// SPDX-License-Identifier: Apache-2.0
package sparkext.log;

import java.util.List;
import sparkext.parquet.FileColumn;

/**
 * Files outside of the log with equal values in all components after {@code sizeInBytes}, except
 * {@code vector}; {@code FileGroup} of {@code spark_ext/log/actions.py} documents each component.
 */
public record FileGroup(
    String example,
    long numFiles,
    long sizeInBytes,
    String kind,
    String source,
    boolean isHidden,
    boolean isOlder,
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
    return with("", 0, 0, source, folders, null);
  }

  /** Joins two groups of files that are alike. The result has the first example in order. */
  FileGroup plus(FileGroup other) {
    FileGroup first = other.example.compareTo(example) < 0 ? other : this;
    return with(
        first.example,
        numFiles + other.numFiles,
        sizeInBytes + other.sizeInBytes,
        source,
        folders,
        first.vector);
  }

  /** Returns the same group with another table as its source, and other names of folders. */
  FileGroup in(String table, List<String> itsFolders) {
    return with(example, numFiles, sizeInBytes, table, itsFolders, vector);
  }

  private FileGroup with(
      String path, long files, long size, String table, List<String> names, String itsVector) {
    return new FileGroup(
        path,
        files,
        size,
        kind,
        table,
        isHidden,
        isOlder,
        addedUnder,
        partitionColumns,
        names,
        statistics,
        columns,
        problem,
        itsVector,
        vectorProblem);
  }
}
