// SPDX-License-Identifier: Apache-2.0
package sparkext.log;

import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.UnsupportedFileSystemException;
import org.apache.hadoop.security.AccessControlException;

/**
 * Finds the table that a folder of data files belongs to: the nearest folder with a log, upwards.
 *
 * <p>Each folder is looked up once, for any number of files.
 */
final class SourceTables {
  private final Configuration configuration;
  private final Map<Path, Optional<Path>> tables = new HashMap<>();

  SourceTables(Configuration configuration) {
    this.configuration = configuration;
  }

  /** Returns the nearest folder with a log, from a folder upwards; the same folder without one. */
  String of(String folder) throws IOException {
    return nearest(new Path(folder)).map(Path::toString).orElse(folder);
  }

  private Optional<Path> nearest(Path folder) throws IOException {
    if (folder == null) {
      return Optional.empty();
    }
    Optional<Path> known = tables.get(folder);
    if (known == null) {
      known = hasLog(folder) ? Optional.of(folder) : nearest(folder.getParent());
      tables.put(folder, known);
    }
    return known;
  }

  private boolean hasLog(Path folder) throws IOException {
    try {
      return folder.getFileSystem(configuration).exists(new Path(folder, LogFolder.NAME));
    } catch (AccessControlException | AccessDeniedException | UnsupportedFileSystemException no) {
      // A user with the right to read a file may lack it for the folders above.
      return false;
    }
  }
}
