// SPDX-License-Identifier: Apache-2.0
package sparkext.log;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** The files in a table's folder outside of {@code _delta_log}, and the empty folders. */
final class DataFolder {
  /** The columns of {@link #rows}. */
  static final StructType SCHEMA =
      new StructType()
          .add("key", DataTypes.StringType)
          .add("length", DataTypes.LongType)
          .add("time", DataTypes.LongType)
          .add("isFolder", DataTypes.BooleanType)
          .add("isHidden", DataTypes.BooleanType);

  private final FileSystem storage;
  private final URI defaultStorage;
  private final Path root;
  private final List<Row> rows = new ArrayList<>();

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

  /**
   * Lists the folder.
   *
   * @param isHidden returns whether VACUUM ignores files and folders of a name
   */
  List<Row> rows(Predicate<String> isHidden) throws IOException {
    for (FileStatus each : storage.listStatus(root)) {
      if (!each.getPath().getName().equals(LogFolder.NAME)) {
        add(each, isHidden, /* isInHidden= */ false);
      }
    }
    return rows;
  }

  private void add(FileStatus each, Predicate<String> isHidden, boolean isInHidden)
      throws IOException {
    boolean hidden = isInHidden || isHidden.test(each.getPath().getName());
    if (!each.isDirectory()) {
      addRow(each, /* isFolder= */ false, hidden);
      return;
    }
    FileStatus[] inside;
    try {
      inside = storage.listStatus(each.getPath());
    } catch (FileNotFoundException deleted) {
      return; // by VACUUM after its parent was listed
    }
    if (inside.length == 0) {
      addRow(each, /* isFolder= */ true, hidden);
    }
    for (FileStatus file : inside) {
      add(file, isHidden, hidden);
    }
  }

  private void addRow(FileStatus file, boolean isFolder, boolean isHidden) {
    rows.add(
        RowFactory.create(
            key(file.getPath()),
            isFolder ? 0L : file.getLen(),
            file.getModificationTime(),
            isFolder,
            isHidden));
  }
}
