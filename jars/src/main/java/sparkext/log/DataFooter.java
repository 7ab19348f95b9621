// SPDX-License-Identifier: Apache-2.0
package sparkext.log;

import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.catalog.ExternalCatalogUtils;
import sparkext.parquet.FileColumn;
import sparkext.parquet.MissingFileException;
import sparkext.parquet.NotCopyableException;
import sparkext.parquet.UnreadableFileException;

/** The columns in a data file's footer, or the reason why they cannot be read. */
record DataFooter(List<FileColumn> columns, String problem) {
  /** The reason for a file that does not exist. */
  static final String MISSING = "missing";

  /** The footer of a file that is not read. */
  static final DataFooter NOT_READ = new DataFooter(null, null);

  /** The footer of a file without columns. */
  static final DataFooter EMPTY = new DataFooter(List.of(), null);

  /**
   * Reads a footer.
   *
   * @param place absolute; null if the log's path is not a URI
   * @param size of the file; null if it is not known
   */
  static DataFooter of(Configuration configuration, Path place, Long size) throws IOException {
    if (place == null) {
      return new DataFooter(null, "its path is not the URI of a file");
    }
    if (size == null) {
      return new DataFooter(null, "the log lacks its size");
    }
    try {
      return new DataFooter(FileColumn.of(configuration, place, size), null);
    } catch (MissingFileException missing) {
      return new DataFooter(null, MISSING);
    } catch (UnreadableFileException | NotCopyableException unreadable) {
      return new DataFooter(null, unreadable.getMessage());
    }
  }

  /** Returns the place of a path of the log; null if the path is not URL-encoded. */
  static Path place(String path) {
    try {
      Path place = new Path(new URI(path));
      return path.isEmpty() || place.toUri().isOpaque() ? null : place;
    } catch (URISyntaxException | IllegalArgumentException raw) {
      return null;
    }
  }

  /** Returns the names before {@code =} in the folders of a path. */
  static List<String> folders(Path place) {
    String[] names = place == null ? new String[0] : place.toUri().getPath().split("/");
    List<String> folders = new ArrayList<>();
    for (int i = 0; i < names.length - 1; i++) {
      String name = folderColumn(names[i]);
      if (name != null) {
        folders.add(name);
      }
    }
    return folders;
  }

  /** Returns the name before {@code =}; null if there is none. */
  static String folderColumn(String folder) {
    int end = folder.indexOf('=');
    return end > 0 ? ExternalCatalogUtils.unescapePathName(folder.substring(0, end)) : null;
  }
}
