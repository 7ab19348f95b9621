// SPDX-License-Identifier: Apache-2.0
package sparkext.log;

import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.net.URI;
import java.nio.file.AccessDeniedException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.regex.Pattern;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.UnsupportedFileSystemException;
import org.apache.hadoop.security.AccessControlException;
import org.apache.spark.api.java.function.FlatMapFunction;
import org.apache.spark.sql.Row;
import org.apache.spark.util.SerializableConfiguration;

/**
 * The task of an executor: it reads footers and deletion vectors, and puts files that are alike
 * into one group. A table has many files, and few kinds of files.
 *
 * @param root the table's folder, as {@link DataFolder#root}
 * @param changes the versions that change the table's metadata, oldest first
 * @param withSources whether the folders of files outside of the table are wanted
 */
record FileGroups(
    String root, SerializableConfiguration configuration, List<Long> changes, boolean withSources)
    implements FlatMapFunction<Iterator<Row>, String> {
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final String UNTRACKED = "untracked";
  private static final String LIVE = "live";
  private static final String VECTORS = "vectors";
  private static final String CHANGE_DATA = "changeData";
  private static final String CHANGE_DATA_FOLDER = "_change_data/";

  /** Delta's names for the files of deletion vectors. */
  private static final Pattern VECTOR = Pattern.compile("deletion_vector_[0-9a-f-]{36}\\.bin");

  /** Returns the groups as texts: every serializer that an application sets supports them. */
  @Override
  public Iterator<String> call(Iterator<Row> files) throws IOException {
    Map<FileGroup, FileGroup> groups = new LinkedHashMap<>();
    while (files.hasNext()) {
      add(file(files.next()), groups);
    }
    List<String> texts = new ArrayList<>();
    for (FileGroup group : groups.values()) {
      texts.add(MAPPER.writeValueAsString(group));
    }
    return texts.iterator();
  }

  /** Returns the groups of all tasks. Groups that are alike become one. */
  static List<FileGroup> merged(List<String> texts, SourceTables tables) throws IOException {
    Map<FileGroup, FileGroup> groups = new LinkedHashMap<>();
    for (String text : texts) {
      FileGroup group = MAPPER.readValue(text, FileGroup.class);
      if (group.source() != null) {
        String table = tables.of(group.source());
        List<String> folders = DataFooter.folders(below(table, group.source()));
        folders.addAll(group.folders());
        group = group.in(table, folders);
      }
      add(group, groups);
    }
    return List.copyOf(groups.values());
  }

  /** Returns the place of a file in a folder below a table, without the folders above the table. */
  private static Path below(String table, String folder) {
    return new Path(folder.substring(table.length()) + "/file");
  }

  private static void add(FileGroup file, Map<FileGroup, FileGroup> groups) {
    groups.merge(file.common(), file, FileGroup::plus);
  }

  /** Returns the group of one file. */
  private FileGroup file(Row row) throws IOException {
    String key = row.getAs("key");
    String given = row.getAs("path");
    Long length = row.getAs("length");
    String kind = row.getAs("kind");
    boolean isLive = LIVE.equals(kind);
    boolean isInside = key.startsWith(root + "/");
    String relative = isInside ? key.substring(root.length() + 1) : key;
    Path place = absolute(key);
    Long size = length == null ? row.<Long>getAs("size") : length;
    DataFooter footer = footer(row, place, size);
    LoggedVector vector =
        row.<Boolean>getAs("isRead") ? LoggedVector.of(row.getAs("deletionVector")) : null;
    String vectorProblem =
        vector == null ? null : vector.problem(hadoop(), absolute(vector.path()));
    Long added = row.getAs("added");
    String statistics = row.getAs("statistics");
    List<String> partitionColumns = partitionColumns(row);
    return new FileGroup(
        given == null ? relative : given,
        1,
        size == null ? 0 : size,
        isLive || !isVector(row, place) ? kind == null ? kindOf(relative) : kind : VECTORS,
        isInside || place == null || !withSources
            ? null
            : source(place, partitionColumns).toString(),
        Boolean.TRUE.equals(row.getAs("isHidden")),
        row.getAs("isOlder"),
        added == null ? null : new TreeSet<>(changes).floor(added),
        partitionColumns == null ? List.of() : partitionColumns,
        isInside || !withSources
            ? folders(row, relative)
            : partitionFolders(place, partitionColumns),
        statistics == null ? List.of() : MAPPER.readValue(statistics, new TypeReference<>() {}),
        footer.columns(),
        footer.problem(),
        vectorProblem == null ? null : vector.path(),
        vectorProblem);
  }

  /** Returns the place of a path of the log; null if the path is not URL-encoded. */
  private Path absolute(String path) {
    Path place = DataFooter.place(path);
    return place == null || place.isAbsolute()
        ? place
        : new Path(new Path(URI.create(root)), place);
  }

  private Configuration hadoop() {
    return configuration.value();
  }

  private DataFooter footer(Row row, Path place, Long size) throws IOException {
    if (isFolder(row)) {
      return size == DataFolder.UNLISTED
          ? new DataFooter(null, "the folder cannot be listed")
          : DataFooter.EMPTY;
    }
    if (isVector(row, place)) {
      return DataFooter.EMPTY; // row numbers only
    }
    return place != null && size != null && !row.<Boolean>getAs("isRead")
        ? DataFooter.NOT_READ
        : DataFooter.of(hadoop(), place, size);
  }

  private static boolean isVector(Row row, Path place) {
    return row.getAs("isVector") == null
        ? place != null && VECTOR.matcher(place.getName()).matches()
        : row.<Boolean>getAs("isVector");
  }

  private static String kindOf(String relative) {
    return relative.startsWith(CHANGE_DATA_FOLDER) ? CHANGE_DATA : UNTRACKED;
  }

  private static List<String> partitionColumns(Row row) {
    int field = row.fieldIndex("partitionColumns");
    return row.isNullAt(field) ? null : row.getList(field);
  }

  private static boolean isFolder(Row row) {
    return Boolean.TRUE.equals(row.getAs("isFolder"));
  }

  /** Returns the folders of a row. The path of an empty folder's row is the folder itself. */
  private static List<String> folders(Row row, String relative) {
    return DataFooter.folders(DataFooter.place(isFolder(row) ? relative + "/file" : relative));
  }

  /**
   * Returns the folder of another table's file, without the folders of its partitions. Names of
   * folders above them may contain {@code =} too.
   */
  private static Path source(Path place, List<String> partitionColumns) {
    Path folder = place.getParent();
    for (int i = 0; i < partitionColumns.size() && isPartition(folder); i++) {
      folder = folder.getParent();
    }
    return folder;
  }

  private static boolean isPartition(Path folder) {
    return DataFooter.folderColumn(folder.getName()) != null;
  }

  /** Returns the names before {@code =} in the folders below {@link #source}. */
  private static List<String> partitionFolders(Path place, List<String> partitionColumns) {
    if (place == null) {
      return List.of();
    }
    String folder = source(place, partitionColumns).toString();
    return DataFooter.folders(below(folder, place.getParent().toString()));
  }

  /**
   * Finds the table that a folder of data files belongs to: the nearest folder with a log, upwards.
   *
   * <p>Each folder is looked up once, for any number of files.
   */
  static final class SourceTables {
    private final Configuration configuration;
    private final Map<Path, Path> tables = new HashMap<>();

    SourceTables(Configuration configuration) {
      this.configuration = configuration;
    }

    /**
     * Returns the nearest folder with a log, from a folder upwards; the same folder without one.
     */
    String of(String folder) throws IOException {
      Path table = nearest(new Path(folder));
      return table == null ? folder : table.toString();
    }

    private Path nearest(Path folder) throws IOException {
      if (folder != null && !tables.containsKey(folder)) {
        tables.put(folder, hasLog(folder) ? folder : nearest(folder.getParent()));
      }
      return tables.get(folder);
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
}
