// SPDX-License-Identifier: Apache-2.0
package sparkext.removal;

import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.apache.spark.sql.delta.actions.AddFile;
import sparkext.common.FailedRead;
import sparkext.common.UsageTrackingException;
import sparkext.files.FileJob;

/**
 * The failures of one round.
 *
 * @param unreadable the files that cannot be read, by their paths in the log
 * @param notRewritten the files that Delta failed to rewrite
 * @param failure of that rewrite; null if Delta rewrote the files
 */
record RoundFailures(
    Map<String, FileJob.TaskResult> unreadable, List<AddFile> notRewritten, Exception failure) {
  /**
   * Throws the failure of a file that is live and has the same deletion vector, or of a rewrite all
   * of whose files are. A file that another writer removed, or its earlier vector, may be deleted
   * already.
   */
  void throwIfLive(Collection<AddFile> files) {
    if (unreadable.isEmpty() && failure == null) {
      return;
    }
    Map<String, AddFile> live = new HashMap<>();
    files.forEach(file -> live.put(file.path(), file));
    for (FileJob.TaskResult result : unreadable.values()) {
      if (isLive(result.decision().file(), live)) {
        throw result.unreadable().sneakyThrow();
      }
    }
    if (failure != null && notRewritten.stream().allMatch(file -> isLive(file, live))) {
      throw UsageTrackingException.sneakyThrow(FailedRead.described(failure));
    }
  }

  private static boolean isLive(AddFile file, Map<String, AddFile> live) {
    AddFile found = live.get(file.path());
    return found != null && Objects.equals(found.deletionVector(), file.deletionVector());
  }
}
