// SPDX-License-Identifier: Apache-2.0
package sparkext.log;

import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.net.URI;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.regex.Pattern;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.spark.api.java.function.FlatMapFunction;
import org.apache.spark.broadcast.Broadcast;
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
    String root,
    Broadcast<SerializableConfiguration> configuration,
    List<Long> changes,
    boolean withSources)
    implements FlatMapFunction<Iterator<Row>, String> {
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final String UNTRACKED = "untracked";
  private static final String LIVE = "live";
  private static final String CHANGE_DATA = "changeData";
  private static final String CHANGE_DATA_FOLDER = "_change_data/";

  /** Delta's names for the files of deletion vectors. */
  private static final Pattern VECTOR = Pattern.compile("deletion_vector_[0-9a-f-]{36}\\.bin");

  /** Returns the groups as texts: every serializer that an application sets supports them. */
  @Override
  public Iterator<String> call(Iterator<Row> files) throws IOException {
    Map<FileGroup, FileGroup> groups = new LinkedHashMap<>();
    while (files.hasNext()) {
      FileGroup file = file(files.next());
      if (file != null) {
        add(file, groups);
      }
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
      add(group.source() == null ? group : group.in(tables.of(group.source())), groups);
    }
    return List.copyOf(groups.values());
  }

  private static void add(FileGroup file, Map<FileGroup, FileGroup> groups) {
    groups.merge(file.common(), file, FileGroup::plus);
  }

  /** Returns the group of one file; null for a file that does not exist and is not live. */
  private FileGroup file(Row row) throws IOException {
    String key = row.getAs("key");
    String given = row.getAs("path");
    Long length = row.getAs("length");
    String kind = row.getAs("kind");
    boolean isLive = LIVE.equals(kind);
    boolean isInside = key.startsWith(root + "/");
    if (isInside && length == null && !isLive) {
      return null;
    }
    String relative = isInside ? key.substring(root.length() + 1) : key;
    if (kind == null) {
      kind = relative.startsWith(CHANGE_DATA_FOLDER) ? CHANGE_DATA : UNTRACKED;
    }
    Path place = absolute(key);
    Long size = length == null ? row.<Long>getAs("size") : length;
    DataFooter footer = footer(row, place, size);
    if (!isInside && !isLive && DataFooter.MISSING.equals(footer.problem())) {
      return null;
    }
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
        isLive ? null : FileGroup.later(row.getAs("removed"), row.getAs("time")),
        kind,
        isInside || place == null || !withSources ? null : source(place, partitionColumns),
        Boolean.TRUE.equals(row.getAs("isHidden")),
        added == null ? null : new TreeSet<>(changes).floor(added),
        partitionColumns == null ? List.of() : partitionColumns,
        folders(row, relative),
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
    return configuration.value().value();
  }

  private DataFooter footer(Row row, Path place, Long size) throws IOException {
    boolean isEmpty = row.getAs("length") != null && size == 0;
    if (isEmpty || isFolder(row)) {
      return DataFooter.EMPTY;
    }
    if (place != null && LogFolder.HADOOP_CHECKSUM.matcher(place.getName()).matches()) {
      return DataFooter.EMPTY;
    }
    boolean isVector =
        row.getAs("isVector") == null
            ? place != null && VECTOR.matcher(place.getName()).matches()
            : row.<Boolean>getAs("isVector");
    if (isVector) {
      return DataFooter.ofVectors(hadoop(), place, row.getAs("length"));
    }
    return place != null && size != null && !row.<Boolean>getAs("isRead")
        ? DataFooter.NOT_READ
        : DataFooter.of(hadoop(), place, size);
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
   *
   * @param partitionColumns null if the file is not live
   */
  private static String source(Path place, List<String> partitionColumns) {
    Path folder = place.getParent();
    int most = partitionColumns == null ? Integer.MAX_VALUE : partitionColumns.size();
    for (int i = 0; i < most && DataFooter.folderColumn(folder.getName()) != null; i++) {
      folder = folder.getParent();
    }
    return folder.toString();
  }
}
