// SPDX-License-Identifier: Apache-2.0
package sparkext.files;

import java.net.URI;
import java.util.Map;
import java.util.Objects;
import java.util.regex.Pattern;
import org.apache.hadoop.fs.Path;
import org.apache.spark.paths.SparkPath;
import org.apache.spark.sql.catalyst.catalog.ExternalCatalogUtils;
import org.apache.spark.sql.delta.util.DeltaFileOperations;

/**
 * Converts between the paths of files in the log of a table and absolute paths.
 *
 * @param table the folder of the table
 */
public record TablePaths(Path table) {
  /** Paths below the table in which URL encoding changes nothing. */
  private static final Pattern PLAIN =
      Pattern.compile("(?!(?:.*/)?\\.\\.(?:/|$))[\\w.=-][\\w.=/-]*");

  /** Returns the absolute path of a path in the log. */
  Path absolute(String path) {
    return DeltaFileOperations.absolutePath(table.toString(), path);
  }

  /** Returns the URI of a path in the log. */
  String uri(String path) {
    return PLAIN.matcher(path).matches() ? uri(table, path) : absolute(path).toUri().toString();
  }

  /** Returns the URI of a name in a folder. */
  static String uri(Path folder, String name) {
    String uri = folder.toUri().toString();
    return uri.endsWith("/") ? uri + name : uri + "/" + name;
  }

  /** Returns the path in the log of a copy with a URI. */
  public String relative(String copy) {
    String root = uri(table, "");
    if (copy.startsWith(root)
        && PLAIN.matcher(copy).region(root.length(), copy.length()).matches()) {
      return copy.substring(root.length());
    }
    return SparkPath.fromPath(new Path(belowTable(new Path(URI.create(copy))))).urlEncoded();
  }

  /** Returns whether a path in the log is outside of the table's folder. */
  boolean isOutside(String path) {
    return !PLAIN.matcher(path).matches() && belowTable(absolute(path)).isEmpty();
  }

  /**
   * Returns whether a reader that takes partition values from folder names reads wrong values.
   *
   * @param oldValues by the names that the folders may have
   * @param newValues by the names that readers use
   */
  boolean isMisleading(String path, Map<String, String> oldValues, Map<String, String> newValues) {
    for (String folder : belowTable(absolute(path)).split("/")) {
      String[] named = folder.split("=", 2);
      String column = ExternalCatalogUtils.unescapePathName(named[0]);
      if (named.length == 2
          && !(oldValues.containsKey(column)
              && newValues.containsKey(column)
              && Objects.equals(oldValues.get(column), newValues.get(column)))) {
        return true;
      }
    }
    return false;
  }

  /** Returns the path below the table's folder; empty for a path outside of the folder. */
  private String belowTable(Path path) {
    String folder = decoded(table) + (table.isRoot() ? "" : "/");
    String name = decoded(path);
    return name.startsWith(folder) ? name.substring(folder.length()) : "";
  }

  /** Returns the same text for every form of a path: an empty authority equals none. */
  private static String decoded(Path path) {
    URI uri = path.toUri();
    String authority = uri.getAuthority() == null ? "" : uri.getAuthority();
    return uri.getScheme() + "://" + authority + uri.getPath();
  }
}
