// SPDX-License-Identifier: Apache-2.0
package sparkext.log;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
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

  /** What a group has of its own; groups with all else the same are one. */
  private static final List<String> OWN = List.of("example", "numFiles", "sizeInBytes");

  /** In the place of a reason why a footer cannot be read. */
  private static final String MISSING = "missing";

  @Override
  public Iterator<String> call(Iterator<Row> files) throws IOException {
    Map<ObjectNode, ObjectNode> groups = new LinkedHashMap<>();
    while (files.hasNext()) {
      add(group(files.next()), groups);
    }
    return groups.values().stream().map(ObjectNode::toString).iterator();
  }

  /** Adds a group to others, by what those that are alike have in common. */
  static void add(ObjectNode group, Map<ObjectNode, ObjectNode> groups) {
    groups.merge(group.deepCopy().without(OWN), group, FileGroups::sum);
  }

  /** One group of two, with the example whose name comes first. */
  private static ObjectNode sum(ObjectNode one, ObjectNode other) {
    for (String number : OWN.subList(1, 3)) {
      one.put(number, one.get(number).asLong() + other.get(number).asLong());
    }
    String example = other.get("example").textValue();
    return example.compareTo(one.get("example").textValue()) < 0
        ? one.put("example", example)
        : one;
  }

  private ObjectNode group(Row file) throws IOException {
    String path = file.getAs("path");
    ObjectNode group = MAPPER.createObjectNode();
    group.put("example", path);
    group.put("numFiles", 1L);
    Long size = file.getAs("size");
    group.put("sizeInBytes", size == null ? 0 : size);
    Long added = file.getAs("added");
    group.put("addedUnder", added == null ? null : new TreeSet<>(changes).floor(added));
    ArrayNode partitionColumns = group.putArray("partitionColumns");
    file.getList(file.fieldIndex("partitionColumns"))
        .forEach(name -> partitionColumns.add((String) name));
    ArrayNode folders = group.putArray("folders");
    Path place = place(path);
    String[] names = place == null ? new String[0] : place.toUri().getPath().split("/");
    for (int i = 0; i < names.length - 1; i++) { // the last is the file's own
      int end = names[i].indexOf('=');
      if (end > 0) {
        folders.add(ExternalCatalogUtils.unescapePathName(names[i].substring(0, end)));
      }
    }
    group.set("statistics", MAPPER.readTree(file.<String>getAs("statistics")));
    group.putNull("columns");
    group.putNull("problem");
    if (place == null) {
      group.put("problem", "its path is no URI of a file");
    } else if (size == null) {
      group.put("problem", "the log does not have its size");
    } else if (file.<Boolean>getAs("isRead")) {
      readFooter(place, size, group);
    }
    return group;
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

  private void readFooter(Path given, long size, ObjectNode group) throws IOException {
    Path absolute = given.isAbsolute() ? given : new Path(new Path(URI.create(table)), given);
    try {
      ArrayNode columns = MAPPER.createArrayNode();
      for (FileColumn column : FileColumn.of(configuration.value().value(), absolute, size)) {
        ObjectNode node = columns.addObject();
        column.path().forEach(node.putArray("path")::add);
        node.put("fieldId", column.fieldId());
      }
      group.set("columns", columns);
    } catch (MissingFileException missing) {
      group.put("problem", MISSING);
    } catch (NotParquetException | NotCopiedException unreadable) {
      group.put("problem", unreadable.getMessage());
    }
  }
}
