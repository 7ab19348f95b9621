// SPDX-License-Identifier: Apache-2.0
package sparkext.log;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The files of a log: all of them, those with content of a version or an earlier one, and those
 * whose content is unknown.
 */
record LogAge(FileCount all, FileCount older, List<String> unknown) {
  private static final FileCount NONE = new FileCount(0, 0);

  static LogAge of(LogFolder log, FileActions actions, long version) {
    Map<String, Long> sidecars = new HashMap<>();
    if (log.files().stream().anyMatch(file -> file.isIn(LogFile.SIDECARS))) {
      log.checkpoints() // by version
          .forEach(
              each ->
                  actions
                      .sidecars(each)
                      .forEach(path -> sidecars.put(path.getName(), each.version())));
    }
    FileCount all = NONE;
    FileCount older = NONE;
    List<String> unknown = new ArrayList<>();
    for (LogFile file : log.files()) {
      Long oldest = oldest(file, sidecars);
      // Delta's log cleanup never deletes log compaction files.
      boolean stays = file.firstVersion() != null && file.firstVersion() <= version;
      if (file.problem() != null || stays) {
        unknown.add(file.path().toString());
      } else if (oldest != null) {
        all = all.plus(file);
        older = oldest <= version ? older.plus(file) : older;
      }
    }
    return new LogAge(all, older, unknown);
  }

  /**
   * Returns the oldest version whose actions a file may contain; null for {@code _last_checkpoint}
   * and {@code _last_vacuum_info}, which contain no actions.
   */
  private static Long oldest(LogFile file, Map<String, Long> sidecars) {
    if (file.isIn(LogFile.SIDECARS)) {
      return sidecars.getOrDefault(file.path().getName(), -1L);
    }
    return file.firstVersion() == null ? file.version() : file.firstVersion();
  }
}
