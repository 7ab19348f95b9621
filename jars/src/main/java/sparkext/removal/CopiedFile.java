// SPDX-License-Identifier: Apache-2.0
package sparkext.removal;

import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import org.apache.spark.sql.delta.actions.AddFile;
import sparkext.copy.FileRequest.FileResult;
import sparkext.files.CopiedActions;
import sparkext.files.CopiedVectors;
import sparkext.files.CopyPlaces;
import sparkext.files.FilePlan.FileDecision;
import sparkext.files.TablePaths;
import sparkext.parquet.DataFile;

/**
 * A file that was copied, or is kept.
 *
 * @param decision by the log
 * @param added the action that adds the copy; null for a kept file
 * @param files the sizes of the files that were written, by their paths in the log
 */
record CopiedFile(
    FileDecision decision, FileResult result, AddFile added, Map<String, Long> files) {
  /** Makes the record of a file that was copied or is kept. */
  static CopiedFile of(FileDecision decision, FileResult result, TablePaths paths) {
    if (result.way() != DataFile.Way.COPIED) {
      return new CopiedFile(decision, result, null, Map.of());
    }
    AddFile added = CopiedActions.added(decision, result, paths);
    Map<String, Long> files = new HashMap<>(Map.of(added.path(), added.size()));
    if (result.vector() != null) {
      files.put(paths.relative(result.vector()), CopiedVectors.length(decision.file()));
    }
    return new CopiedFile(decision, result, added, files);
  }

  /** Returns the record with a new decision, for which {@link #isValidFor} is true. */
  CopiedFile updated(FileDecision now, TablePaths paths) {
    return of(now, hasVectorOf(now.file()) ? result : result.withVector(null), paths);
  }

  private boolean hasVectorOf(AddFile now) {
    return Objects.equals(decision.file().deletionVector(), now.deletionVector());
  }

  /**
   * Returns whether the copy and the copy of its deletion vector are complete on the storage.
   *
   * @param copies the sizes of all copies on the storage, by name
   */
  boolean isStored(Map<String, Long> copies) {
    return files.entrySet().stream()
        .allMatch(file -> file.getValue().equals(copies.get(CopyPlaces.nameOf(file.getKey()))));
  }

  /** Returns whether the record is valid for a newer decision about the file. */
  boolean isValidFor(FileDecision now) {
    return result.way() == DataFile.Way.KEPT
        ? now.mayBeKept()
        : now.reason() == null && (hasVectorOf(now.file()) || !CopiedVectors.isForeign(now.file()));
  }
}
