// SPDX-License-Identifier: Apache-2.0
package sparkext.parquet;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.parquet.format.SchemaElement;

/**
 * A column in the schema of a file, at any level.
 *
 * @param path the names from the root; inside a list {@code element}, and inside a map {@code key}
 *     and {@code value}, even if the file names these groups differently
 * @param fieldId null if the column has no field id
 */
public record FileColumn(List<String> path, Integer fieldId) {
  /**
   * Reads every column of a file, parents before children.
   *
   * @param size of the file according to the log
   * @throws UnreadableFileException if the file is missing, truncated or not a Parquet file
   * @throws NotCopyableException if the footer is encrypted, or the schema is not a tree
   */
  public static List<FileColumn> of(Configuration configuration, Path path, long size)
      throws IOException {
    try (InputFile source = new Storages(configuration).open(path, size)) {
      List<SchemaElement> schema = Footer.read(source, size).metadata().getSchema();
      List<FileColumn> columns = new ArrayList<>();
      if (schema.size() > 1) {
        SchemaTree.of(schema).children().forEach(child -> add(child, List.of(), columns));
      }
      return columns;
    }
  }

  private static void add(SchemaTree node, List<String> parents, List<FileColumn> columns) {
    add(node, parents, node.name(), columns);
  }

  private static void add(
      SchemaTree node, List<String> parents, String name, List<FileColumn> columns) {
    List<String> path = new ArrayList<>(parents);
    path.add(name);
    columns.add(new FileColumn(path, node.hasId() ? node.id() : null));
    addInside(node, path, columns);
  }

  private static void addInside(SchemaTree node, List<String> path, List<FileColumn> columns) {
    if (node.isList() && node.children().size() == 1) {
      SchemaTree repeated = node.children().get(0);
      boolean isElement = Renaming.isElement(repeated, node.name());
      add(isElement ? repeated : repeated.children().get(0), path, "element", columns);
    } else if (node.isMap() && Renaming.hasEntries(node)) {
      List<SchemaTree> entries = node.children().get(0).children();
      add(entries.get(0), path, "key", columns);
      add(entries.get(1), path, "value", columns);
    } else {
      node.children().forEach(child -> add(child, path, columns));
    }
  }
}
