// SPDX-License-Identifier: Apache-2.0
package sparkext.log;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;

/** Every file in a table's folder that is not in its log, and folders without files. */
final class DataFolder {
  /** Of {@link #rows}. */
  static final String SCHEMA =
      "key STRING, length BIGINT, time BIGINT, isFolder BOOLEAN, isHidden BOOLEAN";

  private static final String LOG = "_delta_log";

  private final FileSystem storage;
  private final Path root;
  private final List<Row> rows = new ArrayList<>();

  DataFolder(Path table, Configuration configuration) throws IOException {
    storage = table.getFileSystem(configuration);
    root = storage.makeQualified(table);
  }

  /** As a URI, which those of the files start with. */
  String root() {
    return HeldGroups.key(root);
  }

  List<Row> rows() throws IOException {
    for (FileStatus each : storage.listStatus(root)) {
      if (!each.getPath().getName().equals(LOG)) {
        add(each, isHidden(each.getPath().getName(), /* isTop= */ true));
      }
    }
    return rows;
  }

  private void add(FileStatus each, boolean isHidden) throws IOException {
    if (!each.isDirectory()) {
      addRow(each, /* isFolder= */ false, isHidden);
      return;
    }
    FileStatus[] inside = storage.listStatus(each.getPath());
    if (inside.length == 0) {
      addRow(each, /* isFolder= */ true, isHidden);
    }
    for (FileStatus file : inside) {
      add(file, isHidden || isHidden(file.getPath().getName(), /* isTop= */ false));
    }
  }

  private void addRow(FileStatus file, boolean isFolder, boolean isHidden) {
    rows.add(
        RowFactory.create(
            HeldGroups.key(file.getPath()),
            isFolder ? 0L : file.getLen(),
            file.getModificationTime(),
            isFolder,
            isHidden));
  }

  /**
   * Whether VACUUM passes over what is called so.
   *
   * <p>Source: Delta 4.4.0, DeltaTable.scala, {@code isHiddenDirectory}.
   */
  private static boolean isHidden(String name, boolean isTop) {
    if (isTop && name.equals("metadata")) {
      return true; // Iceberg's, where Delta writes that as well
    }
    return (name.startsWith(".") || name.startsWith("_"))
        && !name.startsWith("_delta_index")
        && !name.startsWith("_change_data")
        && !name.contains("=");
  }
}
