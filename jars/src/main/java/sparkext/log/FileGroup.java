// SPDX-License-Identifier: Apache-2.0
package sparkext.log;

import java.util.List;
import sparkext.parquet.FileColumn;

/**
 * Live data files that are alike in all that follows their size.
 *
 * @param example the path of one of them, as its {@code add} action has it
 * @param sizeInBytes all together, as the log has it
 * @param addedUnder the version of the newest metadata at the commit that added them; null where
 *     that commit is gone
 * @param partitionColumns the keys of {@code partitionValues}
 * @param folders the names before {@code =} in their folders
 * @param statistics the paths in {@code minValues}, {@code maxValues} and {@code nullCount}
 * @param columns by their footers; null where these were not read, or could not be
 * @param problem why a footer could not be read; {@code missing} where there is no file
 * @param vector the file of the example's deletion vector, where that was read and could not be
 * @param vectorProblem why not; {@code missing} where there is no file
 */
public record FileGroup(
    String example,
    long numFiles,
    long sizeInBytes,
    Long addedUnder,
    List<String> partitionColumns,
    List<String> folders,
    List<List<String>> statistics,
    List<FileColumn> columns,
    String problem,
    String vector,
    String vectorProblem) {
  /** What those that are alike have in common. */
  FileGroup kind() {
    return of("", null, 0, 0);
  }

  /** One group of two of a kind, with the example whose name comes first. */
  FileGroup plus(FileGroup other) {
    FileGroup first = other.example.compareTo(example) < 0 ? other : this;
    return of(
        first.example, first.vector, numFiles + other.numFiles, sizeInBytes + other.sizeInBytes);
  }

  private FileGroup of(String anExample, String itsVector, long files, long size) {
    return new FileGroup(
        anExample,
        files,
        size,
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
