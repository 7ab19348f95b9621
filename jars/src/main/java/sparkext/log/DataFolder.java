// SPDX-License-Identifier: Apache-2.0
package sparkext.log;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.net.URI;
import java.nio.file.AccessDeniedException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Predicate;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.security.AccessControlException;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * The files in a table's folder outside of {@code _delta_log}, and empty folders of partitions.
 * Folders of other tables, empty files and the checksums that Hadoop writes are omitted.
 */
final class DataFolder {
  /** The columns of {@link #rows}. */
  static final StructType SCHEMA =
      new StructType()
          .add("key", DataTypes.StringType)
          .add("length", DataTypes.LongType)
          .add("time", DataTypes.LongType)
          .add("isFolder", DataTypes.BooleanType)
          .add("isHidden", DataTypes.BooleanType);

  /** The length of a folder that the session may not list. */
  static final long UNLISTED = -1;

  private final FileSystem storage;
  private final URI defaultStorage;
  private final Path root;
  private final List<Row> rows = new ArrayList<>();
  private final List<String> otherTables = new ArrayList<>();

  DataFolder(Path table, Configuration configuration) throws IOException {
    storage = table.getFileSystem(configuration);
    defaultStorage = FileSystem.getDefaultUri(configuration);
    root = storage.makeQualified(table);
  }

  /** Returns the key of the folder. The keys of its files start with it. */
  String root() {
    return key(root);
  }

  /** Returns the URI of the session's default storage. */
  URI defaultStorage() {
    return defaultStorage;
  }

  /**
   * Returns the text by which readers of the log compare paths.
   *
   * <p>Source: Delta 4.4.0, DeltaLog.scala, {@code CanonicalPathFunction}.
   *
   * @param storage the URI of the session's default storage, for an absolute path without scheme
   */
  static String keyInLog(URI storage, String path) {
    Path place = DataFooter.place(path);
    if (place == null) {
      return path;
    }
    boolean isQualified = !place.isAbsoluteAndSchemeAuthorityNull();
    return (isQualified ? place : place.makeQualified(storage, place)).toUri().toString();
  }

  /**
   * Returns the same text for every path of a file; the path itself if it is not a URI.
   *
   * @param root the table's folder, as {@link #root}
   * @param path the path of a file as an action of the log contains it, URL-encoded
   */
  static String key(String root, String path) {
    Path place = DataFooter.place(path);
    if (place == null) {
      return path;
    }
    Path base = new Path(URI.create(root));
    Path absolute = place.isAbsolute() ? place : new Path(base, place);
    return key(absolute.makeQualified(base.toUri(), base));
  }

  /**
   * Returns the same text for every form of a path: an authority may be empty or absent, and more
   * or fewer characters may be escaped.
   */
  static String key(Path absolute) {
    URI given = absolute.toUri();
    URI uri = new Path(given.getScheme(), given.getAuthority(), given.getPath()).toUri();
    String authority = uri.getAuthority() == null ? "" : "//" + uri.getAuthority();
    return uri.getScheme() + ":" + authority + uri.getRawPath();
  }

  /** Returns the folders of other tables that {@link #rows} has found below this folder. */
  List<String> otherTables() {
    return otherTables;
  }

  /**
   * Lists the folder. A folder that cannot be listed has a row with the length {@link #UNLISTED}.
   *
   * @param isHidden returns whether VACUUM ignores files and folders of a name
   */
  List<Row> rows(Predicate<String> isHidden) throws IOException {
    for (FileStatus each : storage.listStatus(root)) {
      if (!isLog(each)) {
        add(each, isHidden, /* isInHidden= */ false);
      }
    }
    return rows;
  }

  private void add(FileStatus each, Predicate<String> isHidden, boolean isInHidden)
      throws IOException {
    boolean hidden = isInHidden || isHidden.test(each.getPath().getName());
    if (!each.isDirectory()) {
      if (each.getLen() > 0
          && !LogFolder.HADOOP_CHECKSUM.matcher(each.getPath().getName()).matches()) {
        addRow(each, each.getLen(), hidden);
      }
      return;
    }
    FileStatus[] inside;
    try {
      inside = storage.listStatus(each.getPath());
    } catch (FileNotFoundException deleted) {
      return; // by VACUUM after its parent was listed
    } catch (AccessControlException | AccessDeniedException refused) {
      addRow(each, UNLISTED, hidden);
      return;
    }
    if (Arrays.stream(inside).anyMatch(DataFolder::isLog)) {
      otherTables.add(each.getPath().toString());
      return;
    }
    if (inside.length == 0 && each.getPath().toString().contains("=")) {
      addRow(each, 0, hidden);
    }
    for (FileStatus file : inside) {
      add(file, isHidden, hidden);
    }
  }

  private static boolean isLog(FileStatus each) {
    return each.isDirectory() && each.getPath().getName().equals(LogFolder.NAME);
  }

  private void addRow(FileStatus each, long length, boolean isHidden) {
    rows.add(
        RowFactory.create(
            key(each.getPath()), length, each.getModificationTime(), each.isDirectory(), isHidden));
  }
}
