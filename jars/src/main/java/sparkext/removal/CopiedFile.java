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
import sparkext.files.FilePlan;
import sparkext.files.TablePaths;
import sparkext.parquet.DataFile;

/**
 * A file that was copied, rewritten, or is kept.
 *
 * @param decision by the log
 * @param added the action that adds the copy; null without a copy
 * @param rewrite the rewrite of the file's rows; null if the file was not rewritten
 * @param files the sizes of the files that were written, by their paths in the log
 */
record CopiedFile(
    FilePlan.FileDecision decision,
    FileResult result,
    AddFile added,
    Rewrites.Rewrite rewrite,
    Map<String, Long> files) {
  /** Makes the record of a file that was copied or is kept. */
  static CopiedFile of(FilePlan.FileDecision decision, FileResult result, TablePaths paths) {
    if (result.way() != DataFile.Way.COPIED) {
      return new CopiedFile(decision, result, null, null, Map.of());
    }
    AddFile added = CopiedActions.added(decision, result, paths);
    Map<String, Long> files = new HashMap<>(Map.of(added.path(), added.size()));
    if (result.vector() != null) {
      files.put(paths.relative(result.vector()), CopiedVectors.length(decision.file()));
    }
    return new CopiedFile(decision, result, added, null, files);
  }

  static CopiedFile rewritten(FilePlan.FileDecision decision, Rewrites.Rewrite rewrite) {
    return new CopiedFile(
        decision, FileResult.toRewrite(0, decision.reason()), null, rewrite, rewrite.files());
  }

  /** Returns the record with a new decision, for which {@link #isValidFor} is true. */
  CopiedFile updated(FilePlan.FileDecision now, TablePaths paths) {
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
    return added == null
        || Objects.equals(copies.get(CopyPlaces.nameOf(result.target())), result.size())
            && (result.vector() == null
                || Objects.equals(
                    copies.get(CopyPlaces.nameOf(result.vector())),
                    CopiedVectors.length(decision.file())));
  }

  boolean isOf(AddFile file) {
    return decision.file() == file || decision.file().equals(file);
  }

  /** Returns whether the record is valid for a newer decision about the file. */
  boolean isValidFor(FilePlan.FileDecision now) {
    return switch (result.way()) {
      case KEPT -> now.mayBeKept();
      case COPIED ->
          now.reason() == null && (hasVectorOf(now.file()) || !CopiedVectors.isForeign(now.file()));
      default -> false;
    };
  }
}
