// SPDX-License-Identifier: Apache-2.0
package sparkext.leave;

import java.util.List;
import org.apache.spark.sql.delta.actions.AddFile;
import sparkext.copy.FileResult;
import sparkext.files.CopiedActions;
import sparkext.files.FilePlaces;
import sparkext.files.FilePlan;
import sparkext.parquet.DataFile;

/**
 * What was made of a file.
 *
 * @param looked what the log said of it
 * @param added what it will say of the copy; null without one
 * @param rewrite with which its rows were written anew; null otherwise
 */
record Made(FilePlan.Looked looked, FileResult result, AddFile added, Rewrites.Rewrite rewrite) {
  /** A file that stays, or its copy. */
  static Made of(FilePlan.Looked looked, FileResult result, FilePlaces places) {
    AddFile added =
        result.way() == DataFile.Way.COPIED
            ? CopiedActions.added(looked, places.relative(result.target()), result.size())
            : null;
    return new Made(looked, result, added, null);
  }

  static Made rewritten(FilePlan.Looked looked, Rewrites.Rewrite rewrite) {
    return new Made(looked, FileResult.toRewrite(0, looked.reason()), null, rewrite);
  }

  /** What was written for it. */
  List<AddFile> files() {
    if (rewrite != null) {
      return rewrite.written();
    }
    return added == null ? List.of() : List.of(added);
  }

  boolean isOf(AddFile file) {
    return looked.file() == file || looked.file().equals(file);
  }

  /** Whether it is right also where the log says something else of the file by now. */
  boolean isRightFor(FilePlan.Looked now) {
    return switch (result.way()) {
      case KEPT -> now.mayStay();
      case COPIED -> now.reason() == null;
      default -> false;
    };
  }
}
