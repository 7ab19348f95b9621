// SPDX-License-Identifier: Apache-2.0
package sparkext.removal;

import java.util.Collection;
import java.util.HashSet;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.apache.spark.sql.delta.actions.AddFile;
import sparkext.common.UsageTrackingException;
import sparkext.files.FileJob;

/**
 * The failures of one round.
 *
 * @param unreadable the files that cannot be read, by their paths in the log
 * @param notRewritten the paths of the files that Delta failed to rewrite
 * @param failure of that rewrite; null if Delta rewrote the files
 */
record RoundFailures(
    Map<String, FileJob.TaskResult> unreadable, Set<String> notRewritten, Exception failure) {
  /**
   * Throws the failure of a file that is live and has the same deletion vector, or of a rewrite
   * whose files are all live. A file that another writer removed, or its earlier vector, may be
   * deleted already.
   */
  void throwIfLive(Collection<AddFile> files) {
    if (unreadable.isEmpty() && failure == null) {
      return;
    }
    Set<String> live = new HashSet<>();
    for (AddFile file : files) {
      live.add(file.path());
      FileJob.TaskResult result = unreadable.get(file.path());
      if (result != null
          && Objects.equals(result.decision().file().deletionVector(), file.deletionVector())) {
        throw result.unreadable().sneakyThrow();
      }
    }
    if (failure != null && live.containsAll(notRewritten)) {
      throw UsageTrackingException.sneakyThrow(failure);
    }
  }
}
