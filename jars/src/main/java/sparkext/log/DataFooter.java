// SPDX-License-Identifier: Apache-2.0
package sparkext.log;

import java.io.FileNotFoundException;
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
import sparkext.parquet.StoredVector;
import sparkext.parquet.UnreadableFileException;

/** What a data file's footer says, or why it does not. */
record DataFooter(List<FileColumn> columns, String problem) {
  /** In the place of a reason why a footer cannot be read. */
  static final String MISSING = "missing";

  /** Of a file that is not looked at. */
  static final DataFooter NOT_READ = new DataFooter(null, null);

  /** Of a file with nothing in it that columns could have. */
  static final DataFooter EMPTY = new DataFooter(List.of(), null);

  /**
   * Reads a footer.
   *
   * @param place absolute; null where the log's path is none
   * @param size of the file; null where nobody knows it
   */
  static DataFooter of(Configuration configuration, Path place, Long size) throws IOException {
    if (place == null) {
      return new DataFooter(null, "its path is no URI of a file");
    }
    if (size == null) {
      return new DataFooter(null, "the log does not have its size");
    }
    try {
      return new DataFooter(FileColumn.of(configuration, place, size), null);
    } catch (MissingFileException missing) {
      return new DataFooter(null, MISSING);
    } catch (UnreadableFileException | NotCopyableException unreadable) {
      return new DataFooter(null, unreadable.getMessage());
    }
  }

  /**
   * Reads a file of deletion vectors, which have no columns.
   *
   * @param place absolute; null where the log's path is none
   * @param length of the file; null where it is not in the table's folder, or missing
   */
  static DataFooter ofVectors(Configuration configuration, Path place, Long length)
      throws IOException {
    if (place == null) {
      return new DataFooter(null, "its path is no URI of a file");
    }
    try {
      Long known =
          length == null
              ? place.getFileSystem(configuration).getFileStatus(place).getLen()
              : length;
      StoredVector.requireNothingElse(configuration, place, known);
      return EMPTY;
    } catch (FileNotFoundException | MissingFileException missing) {
      return new DataFooter(null, MISSING);
    } catch (UnreadableFileException broken) {
      return new DataFooter(null, broken.getMessage());
    }
  }

  /** Null where a path is not as Delta writes it, URL-encoded. */
  static Path place(String path) {
    try {
      Path place = new Path(new URI(path));
      return path.isEmpty() || place.toUri().isOpaque() ? null : place;
    } catch (URISyntaxException | IllegalArgumentException raw) {
      return null;
    }
  }

  /** The names before {@code =} in a path, without those in the file's own name. */
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

  /** The name before {@code =}, or null. */
  static String folderColumn(String folder) {
    int end = folder.indexOf('=');
    return end > 0 ? ExternalCatalogUtils.unescapePathName(folder.substring(0, end)) : null;
  }
}
