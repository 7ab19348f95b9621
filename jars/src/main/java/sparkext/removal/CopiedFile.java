// SPDX-License-Identifier: Apache-2.0
package sparkext.removal;

import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import org.apache.spark.sql.delta.actions.AddFile;
import sparkext.copy.FileResult;
import sparkext.files.CopiedActions;
import sparkext.files.CopiedVectors;
import sparkext.files.FilePlaces;
import sparkext.files.FilePlan;
import sparkext.parquet.DataFile;

/**
 * What was made of a file.
 *
 * @param looked what the log said of it
 * @param added what it will say of the copy; null without one
 * @param rewrite with which its rows were written anew; null otherwise
 * @param files what was written for it: by the paths in the log, with their sizes
 */
record CopiedFile(
    FilePlan.FileDecision looked,
    FileResult result,
    AddFile added,
    Rewrites.Rewrite rewrite,
    Map<String, Long> files) {
  /** A file that stays, or its copy. */
  static CopiedFile of(FilePlan.FileDecision looked, FileResult result, FilePlaces places) {
    if (result.way() != DataFile.Way.COPIED) {
      return new CopiedFile(looked, result, null, null, Map.of());
    }
    AddFile added = CopiedActions.added(looked, result, places);
    Map<String, Long> files = new HashMap<>(Map.of(added.path(), added.size()));
    if (result.vector() != null) {
      files.put(places.relative(result.vector()), CopiedVectors.length(looked.file()));
    }
    return new CopiedFile(looked, result, added, null, files);
  }

  static CopiedFile rewritten(FilePlan.FileDecision looked, Rewrites.Rewrite rewrite) {
    return new CopiedFile(
        looked, FileResult.toRewrite(0, looked.reason()), null, rewrite, rewrite.files());
  }

  /** The same of what the log says of the file by now, for which it is right. */
  CopiedFile updated(FilePlan.FileDecision now, FilePlaces places) {
    return of(now, hasVectorOf(now.file()) ? result : result.withVector(null), places);
  }

  private boolean hasVectorOf(AddFile now) {
    return Objects.equals(looked.file().deletionVector(), now.deletionVector());
  }

  /** Whether a file is on the storage, and its deletion vector, as copies are by their names. */
  boolean isStored(Map<String, Long> copies) {
    return added == null
        || Objects.equals(copies.get(FilePlaces.nameOf(result.target())), result.size())
            && (result.vector() == null
                || Objects.equals(
                    copies.get(FilePlaces.nameOf(result.vector())),
                    CopiedVectors.length(looked.file())));
  }

  boolean isOf(AddFile file) {
    return looked.file() == file || looked.file().equals(file);
  }

  /** Whether it is right also where the log says something else of the file by now. */
  boolean isRightFor(FilePlan.FileDecision now) {
    return switch (result.way()) {
      case KEPT -> now.mayStay();
      case COPIED ->
          now.reason() == null && (hasVectorOf(now.file()) || !CopiedVectors.isForeign(now.file()));
      default -> false;
    };
  }
}
