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
import org.apache.hadoop.fs.Path;
import org.apache.spark.api.java.function.FlatMapFunction;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.Row;
import org.apache.spark.util.SerializableConfiguration;

/**
 * What an executor does with all files of a table: it reads their footers, and deletion vectors,
 * and puts those together that are alike.
 *
 * @param root the table's folder, as a URI
 * @param changes the versions that change the table's metadata, oldest first
 */
record HeldGroups(
    String root, Broadcast<SerializableConfiguration> configuration, List<Long> changes)
    implements FlatMapFunction<Iterator<Row>, String> {
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final String UNTRACKED = "untracked";
  private static final String LIVE = "live";
  private static final String CHANGE_DATA = "changeData";
  private static final String CHANGE_DATA_FOLDER = "_change_data/";

  /** As Delta calls the files of deletion vectors. */
  private static final Pattern VECTOR = Pattern.compile("deletion_vector_[0-9a-f-]{36}\\.bin");

  /** Checksums that Hadoop keeps beside files: they have no values. */
  private static final Pattern HADOOP_CHECKSUM = Pattern.compile("\\..+\\.crc");

  @Override
  public Iterator<String> call(Iterator<Row> files) throws IOException {
    Map<DataFiles, DataFiles> groups = new LinkedHashMap<>();
    while (files.hasNext()) {
      DataFiles file = file(files.next());
      if (file != null) {
        add(file, groups);
      }
    }
    List<String> texts = new ArrayList<>();
    for (DataFiles group : groups.values()) {
      texts.add(MAPPER.writeValueAsString(group));
    }
    return texts.iterator();
  }

  /** The groups of all tasks, those that are alike together. */
  static List<DataFiles> merged(List<String> texts, SourceTables tables) throws IOException {
    Map<DataFiles, DataFiles> groups = new LinkedHashMap<>();
    for (String text : texts) {
      DataFiles group = MAPPER.readValue(text, DataFiles.class);
      add(group.source() == null ? group : group.in(tables.of(group.source())), groups);
    }
    return List.copyOf(groups.values());
  }

  /** A path of the log as a listing of the table's folder has it; as it is where it is none. */
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
   * One text for each file: an authority may be empty or absent, and a path of the log has more or
   * fewer characters escaped.
   */
  static String key(Path absolute) {
    URI given = absolute.toUri();
    URI uri = new Path(given.getScheme(), given.getAuthority(), given.getPath()).toUri();
    String authority = uri.getAuthority() == null ? "" : "//" + uri.getAuthority();
    return uri.getScheme() + ":" + authority + uri.getRawPath();
  }

  private static void add(DataFiles file, Map<DataFiles, DataFiles> groups) {
    groups.merge(file.common(), file, DataFiles::plus);
  }

  /** Null for what is not there and is no longer needed. */
  private DataFiles file(Row row) throws IOException {
    String key = row.getAs("key");
    Long length = row.getAs("length");
    String kind = row.getAs("kind");
    boolean isOurs = key.startsWith(root + "/");
    if (isOurs && length == null && !LIVE.equals(kind)) {
      return null;
    }
    String relative = isOurs ? key.substring(root.length() + 1) : key;
    if (kind == null) {
      kind = relative.startsWith(CHANGE_DATA_FOLDER) ? CHANGE_DATA : UNTRACKED;
    }
    Path place = DataFooter.place(key);
    Long size = length == null ? row.<Long>getAs("size") : length;
    DataFooter footer = footer(row, place, size);
    if (!isOurs && !LIVE.equals(kind) && DataFooter.MISSING.equals(footer.problem())) {
      return null;
    }
    Long added = row.getAs("added");
    String statistics = row.getAs("statistics");
    List<String> partitionColumns =
        row.isNullAt(row.fieldIndex("partitionColumns"))
            ? List.of()
            : row.getList(row.fieldIndex("partitionColumns"));
    return new DataFiles(
        kind,
        1,
        size == null ? 0 : size,
        LIVE.equals(kind) ? null : newest(row.getAs("removed"), row.getAs("time")),
        isOurs || place == null ? null : source(place),
        Boolean.TRUE.equals(row.getAs("isHidden")),
        added == null ? null : new TreeSet<>(changes).floor(added),
        partitionColumns,
        folders(row, relative),
        statistics == null ? List.of() : MAPPER.readValue(statistics, new TypeReference<>() {}),
        footer.columns(),
        footer.problem());
  }

  private DataFooter footer(Row row, Path place, Long size) throws IOException {
    boolean isFolder = Boolean.TRUE.equals(row.getAs("isFolder"));
    boolean isEmpty = row.getAs("length") != null && size == 0;
    if (isFolder || isEmpty) {
      return DataFooter.EMPTY;
    }
    if (place != null && HADOOP_CHECKSUM.matcher(place.getName()).matches()) {
      return DataFooter.EMPTY;
    }
    boolean isVector =
        row.isNullAt(row.fieldIndex("isVector"))
            ? place != null && VECTOR.matcher(place.getName()).matches()
            : row.<Boolean>getAs("isVector");
    if (isVector) {
      return DataFooter.ofVectors(configuration.value().value(), place, row.getAs("length"));
    }
    return DataFooter.of(configuration.value().value(), place, size);
  }

  private static Long newest(Long removed, Long time) {
    if (removed == null || time == null) {
      return removed == null ? time : removed;
    }
    return Math.max(removed, time);
  }

  /** An empty folder is one of its own. */
  private static List<String> folders(Row row, String relative) {
    boolean isFolder = Boolean.TRUE.equals(row.getAs("isFolder"));
    return DataFooter.folders(DataFooter.place(isFolder ? relative + "/file" : relative));
  }

  /** The folder of another table's file, without values in its name. */
  private static String source(Path place) {
    Path folder = place.getParent();
    for (Path each = folder; each != null; each = each.getParent()) {
      if (DataFooter.folderColumn(each.getName()) != null) {
        folder = each.getParent();
      }
    }
    return folder.toString();
  }
}
