// SPDX-License-Identifier: Apache-2.0
package sparkext.log;

import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
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
import org.apache.spark.sql.catalyst.catalog.ExternalCatalogUtils;
import org.apache.spark.util.SerializableConfiguration;
import sparkext.parquet.FileColumn;
import sparkext.parquet.MissingFileException;
import sparkext.parquet.NotCopiedException;
import sparkext.parquet.NotParquetException;

/**
 * What an executor does with data files: it reads their footers and puts those together that are
 * alike. A table has many files, and few kinds of them.
 *
 * @param table its path, as a URI
 * @param changes the versions that change the table's metadata, oldest first
 */
record FileGroups(
    String table, Broadcast<SerializableConfiguration> configuration, List<Long> changes)
    implements FlatMapFunction<Iterator<Row>, String> {
  private static final ObjectMapper MAPPER = new ObjectMapper();

  /** In the place of a reason why a footer cannot be read. */
  private static final String MISSING = "missing";

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
    Path place = place(path);
    Long size = file.getAs("size");
    Long added = file.getAs("added");
    Footer footer = footer(place, size, file.<Boolean>getAs("isRead"));
    return new FileGroup(
        path,
        1,
        size == null ? 0 : size,
        added == null ? null : new TreeSet<>(changes).floor(added),
        file.getList(file.fieldIndex("partitionColumns")),
        folders(place),
        MAPPER.readValue(file.<String>getAs("statistics"), new TypeReference<>() {}),
        footer.columns,
        footer.problem);
  }

  /** The names before {@code =}, without those in the file's own name. */
  private static List<String> folders(Path place) {
    String[] names = place == null ? new String[0] : place.toUri().getPath().split("/");
    List<String> folders = new ArrayList<>();
    for (int i = 0; i < names.length - 1; i++) {
      int end = names[i].indexOf('=');
      if (end > 0) {
        folders.add(ExternalCatalogUtils.unescapePathName(names[i].substring(0, end)));
      }
    }
    return folders;
  }

  /** Null where a path is not as Delta writes it, URL-encoded. */
  private static Path place(String path) {
    try {
      Path place = new Path(new URI(path));
      return path.isEmpty() || place.toUri().isOpaque() ? null : place;
    } catch (URISyntaxException | IllegalArgumentException raw) {
      return null;
    }
  }

  /** What a footer says, or why it does not; nothing where it is not read. */
  private record Footer(List<FileColumn> columns, String problem) {}

  private Footer footer(Path place, Long size, boolean isRead) throws IOException {
    if (place == null) {
      return new Footer(null, "its path is no URI of a file");
    }
    if (size == null) {
      return new Footer(null, "the log does not have its size");
    }
    return isRead ? footer(place, size) : new Footer(null, null);
  }

  private Footer footer(Path given, long size) throws IOException {
    Path absolute = given.isAbsolute() ? given : new Path(new Path(URI.create(table)), given);
    try {
      return new Footer(FileColumn.of(configuration.value().value(), absolute, size), null);
    } catch (MissingFileException missing) {
      return new Footer(null, MISSING);
    } catch (NotParquetException | NotCopiedException unreadable) {
      return new Footer(null, unreadable.getMessage());
    }
  }
}
