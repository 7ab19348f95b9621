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
import org.apache.hadoop.fs.Path;
import org.apache.spark.api.java.function.FlatMapFunction;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.Row;
import org.apache.spark.util.SerializableConfiguration;

/**
 * What an executor does with data files: it reads their footers and deletion vectors, and puts
 * those together that are alike. A table has many files, and few kinds of them.
 *
 * @param table its path, as a URI
 * @param changes the versions that change the table's metadata, oldest first
 */
record FileGroups(
    String table, Broadcast<SerializableConfiguration> configuration, List<Long> changes)
    implements FlatMapFunction<Iterator<Row>, String> {
  private static final ObjectMapper MAPPER = new ObjectMapper();

  /** As texts: every serializer that an application sets knows them. */
  @Override
  public Iterator<String> call(Iterator<Row> files) throws IOException {
    Map<FileGroup, FileGroup> groups = new LinkedHashMap<>();
    while (files.hasNext()) {
      add(group(files.next()), groups);
    }
    List<String> texts = new ArrayList<>();
    for (FileGroup group : groups.values()) {
      texts.add(MAPPER.writeValueAsString(group));
    }
    return texts.iterator();
  }

  /** The groups of all tasks, those that are alike together. */
  static List<FileGroup> merged(List<String> texts) throws IOException {
    Map<FileGroup, FileGroup> groups = new LinkedHashMap<>();
    for (String text : texts) {
      add(MAPPER.readValue(text, FileGroup.class), groups);
    }
    return List.copyOf(groups.values());
  }

  private static void add(FileGroup group, Map<FileGroup, FileGroup> groups) {
    groups.merge(group.kind(), group, FileGroup::plus);
  }

  private FileGroup group(Row file) throws IOException {
    String path = file.getAs("path");
    Path place = DataFooter.place(path);
    Long size = file.getAs("size");
    Long added = file.getAs("added");
    boolean isRead = file.<Boolean>getAs("isRead");
    DataFooter footer = footer(place, size, isRead);
    LoggedVector vector = isRead ? LoggedVector.of(file.getAs("deletionVector")) : null;
    String vectorProblem =
        vector == null
            ? null
            : vector.problem(
                configuration.value().value(), absolute(DataFooter.place(vector.path())));
    return new FileGroup(
        path,
        1,
        size == null ? 0 : size,
        added == null ? null : new TreeSet<>(changes).floor(added),
        file.getList(file.fieldIndex("partitionColumns")),
        DataFooter.folders(place),
        MAPPER.readValue(file.<String>getAs("statistics"), new TypeReference<>() {}),
        footer.columns(),
        footer.problem(),
        vectorProblem == null ? null : vector.path(),
        vectorProblem);
  }

  private DataFooter footer(Path given, Long size, boolean isRead) throws IOException {
    if (given != null && size != null && !isRead) {
      return DataFooter.NOT_READ;
    }
    return DataFooter.of(configuration.value().value(), absolute(given), size);
  }

  private Path absolute(Path given) {
    return given == null || given.isAbsolute()
        ? given
        : new Path(new Path(URI.create(table)), given);
  }
}
