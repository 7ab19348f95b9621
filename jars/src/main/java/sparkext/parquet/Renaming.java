// SPDX-License-Identifier: Apache-2.0
package sparkext.parquet;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import sparkext.parquet.Columns.Column;
import sparkext.parquet.Columns.Leaf;
import sparkext.parquet.Columns.ListOf;
import sparkext.parquet.Columns.MapOf;
import sparkext.parquet.Columns.Struct;
import sparkext.parquet.Columns.Type;

/**
 * Applies a plan to the schemas of files: keeps or renames the columns of the plan, and drops all
 * others. One thread reuses an instance for many files.
 */
public final class Renaming {
  private final ColumnPlan plan;
  private final KeyValueMetadata keyValues;

  public Renaming(ColumnPlan plan) {
    this.plan = plan;
    this.keyValues = new KeyValueMetadata(plan);
  }

  KeyValueMetadata keyValues() {
    return keyValues;
  }

  /**
   * Returns the schema of the copy.
   *
   * @throws NotCopyableException if Delta must rewrite the file
   * @throws UnreadableFileException if Spark cannot read the file in mode id, because it has no
   *     field id
   */
  SchemaTree of(SchemaTree root) throws IOException {
    if (plan.byId() && !root.hasIds()) {
      throw new UnreadableFileException("it has no field ids, by which mode `id` finds columns");
    }
    SchemaTree read = root.as(root.name(), root.children().stream().filter(this::isRead).toList());
    List<SchemaTree> columns = columns(read, plan.columns(), new HashSet<>(plan.kept()));
    SchemaTree renamed = root.as(root.name(), columns);
    return plan.keepsIds() ? renamed : renamed.withoutIds();
  }

  /** Returns false for columns of the change feed in mode id: they have no field id. */
  private boolean isRead(SchemaTree column) {
    return !plan.byId()
        || column.hasId()
        || !plan.ignored().contains(column.name())
        || plan.columns().hasInAnyCase(column.name());
  }

  private List<SchemaTree> columns(SchemaTree group, Columns columns, Set<String> kept)
      throws NotCopyableException {
    List<SchemaTree> renamed = new ArrayList<>();
    Set<String> found = new HashSet<>();
    for (SchemaTree child : group.children()) {
      if (kept.contains(child.name())) {
        renamed.add(child.as(child.name()));
        continue;
      }
      Optional<Column> column = column(child, columns);
      if (column.isPresent()) {
        if (!found.add(column.get().newName())) {
          throw new NotCopyableException("it has the column `" + child.name() + "` twice");
        }
        renamed.add(column(child, column.get().newName(), column.get().type()));
      }
    }
    if (renamed.isEmpty()) {
      // Without a column, no reader can distinguish a null struct from others, or count the rows.
      throw new NotCopyableException("every field of `" + group.name() + "` was dropped");
    }
    return renamed;
  }

  private Optional<Column> column(SchemaTree child, Columns columns) throws NotCopyableException {
    if (plan.byId()) {
      if (!child.hasId()) {
        throw new NotCopyableException("its column `" + child.name() + "` has no field id");
      }
      return columns.withId(child.id());
    }
    Optional<Column> column = columns.named(child.name());
    if (column.isEmpty() && columns.hasInAnyCase(child.name())) {
      throw new NotCopyableException("its column `" + child.name() + "` differs in letter case");
    }
    return column;
  }

  private SchemaTree column(SchemaTree node, String name, Type type) throws NotCopyableException {
    if (!node.isRepeated()) {
      return value(node, name, type);
    }
    if (type instanceof ListOf list && !node.isList() && !node.isMap()) {
      return value(node, name, list.element()); // a repeated field outside of lists is a list
    }
    throw otherwise(node);
  }

  /** Renames the columns inside of a field, for each value of the field if it is repeated. */
  private SchemaTree value(SchemaTree node, String name, Type type) throws NotCopyableException {
    if (type instanceof Leaf) {
      return node.as(name);
    }
    if (type instanceof Struct struct && node.isGroup() && !node.isList() && !node.isMap()) {
      return node.as(name, columns(node, struct.columns(), Set.of()));
    }
    if (type instanceof ListOf list && node.isList() && node.children().size() == 1) {
      return node.as(name, List.of(repeated(node, name, list.element())));
    }
    if (type instanceof MapOf map && node.isMap() && hasEntries(node)) {
      SchemaTree entries = node.children().get(0);
      SchemaTree key = column(entries.children().get(0), map.key());
      SchemaTree value = column(entries.children().get(1), map.value());
      return node.as(name, List.of(entries.as(entries.name(), List.of(key, value))));
    }
    throw otherwise(node);
  }

  private SchemaTree column(SchemaTree node, Type type) throws NotCopyableException {
    return column(node, node.name(), type);
  }

  private SchemaTree repeated(SchemaTree list, String newName, Type element)
      throws NotCopyableException {
    SchemaTree repeated = list.children().get(0);
    boolean isElement = isElement(repeated, list.name());
    if (!repeated.isRepeated() || !isElement && repeated.children().get(0).isRepeated()) {
      throw otherwise(list);
    }
    SchemaTree renamed =
        isElement
            ? value(repeated, repeated.name(), element)
            : repeated.as(repeated.name(), List.of(column(repeated.children().get(0), element)));
    // For DuckDB and ClickHouse, a group of one field is never the element, even if named `array`.
    boolean isNowAlone = repeated.children().size() > 1 && renamed.children().size() == 1;
    if (isElement(renamed, newName) != isElement || isNowAlone) {
      throw new NotCopyableException(
          "readers would find another type in its list `" + list.name() + "`, if it were copied");
    }
    return renamed;
  }

  private static NotCopyableException otherwise(SchemaTree node) {
    return new NotCopyableException(
        "its column `" + node.name() + "` is not structured like the table's column");
  }

  /**
   * Returns whether the repeated field of a list is the element itself, as older writers wrote
   * lists. Otherwise, it is a group whose only field is the element.
   *
   * <p>Source: Parquet, LogicalTypes.md, "Lists", backward-compatibility rules; Spark 4.2,
   * ParquetSchemaConverter.scala, {@code isElementType}.
   */
  static boolean isElement(SchemaTree repeated, String listName) {
    return !repeated.isGroup()
        || repeated.children().size() > 1
        || repeated.name().equals("array")
        || repeated.name().equals(listName + "_tuple");
  }

  static boolean hasEntries(SchemaTree map) {
    return map.children().size() == 1
        && map.children().get(0).isRepeated()
        && map.children().get(0).children().size() == 2
        && map.children().get(0).children().stream().noneMatch(SchemaTree::isRepeated);
  }
}
