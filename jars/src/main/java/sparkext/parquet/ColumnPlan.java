// SPDX-License-Identifier: Apache-2.0
package sparkext.parquet;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;

/**
 * What becomes of the columns in data files; {@code spark_ext/leave/copy_plan.py} makes and
 * describes it.
 *
 * @param byId whether a file's columns are found by field id
 * @param kept names of columns that stay as they are
 */
public record ColumnPlan(boolean byId, List<String> kept, Columns columns) implements Serializable {
  private static final ObjectMapper MAPPER = new ObjectMapper();

  /** A column of the table: its id, its name in files, and its name afterwards. */
  public record Column(int id, String name, String newName, Type type) implements Serializable {}

  /** What is inside a column. */
  public sealed interface Type extends Serializable {}

  /** Nothing that has a name of the table's. */
  public record Leaf() implements Type {}

  /** Further columns. */
  public record Struct(Columns columns) implements Type {}

  /** Elements of a type. */
  public record ListOf(Type element) implements Type {}

  /** Keys and values. */
  public record MapOf(Type key, Type value) implements Type {}

  /**
   * Whether what another plan made of a file is what this one would make of it: all columns of that
   * plan are here, under the same names before and after. What there is besides came later, and is
   * in none of its files; RESTORE may bring back one that is in them.
   *
   * @param maxId the highest id that a column had until then
   */
  public boolean continues(ColumnPlan other, long maxId) {
    return byId == other.byId
        && kept.equals(other.kept)
        && columns.continueThose(other.columns, maxId);
  }

  private static boolean continues(Type type, Type other, long maxId) {
    if (type instanceof Struct struct && other instanceof Struct before) {
      return struct.columns().continueThose(before.columns(), maxId);
    }
    if (type instanceof ListOf list && other instanceof ListOf before) {
      return continues(list.element(), before.element(), maxId);
    }
    if (type instanceof MapOf map && other instanceof MapOf before) {
      return continues(map.key(), before.key(), maxId)
          && continues(map.value(), before.value(), maxId);
    }
    return type instanceof Leaf && other instanceof Leaf;
  }

  /** Whether a column is another one, as that was before. */
  static boolean continues(Column column, Column other, long maxId) {
    return column.id() == other.id()
        && column.name().equals(other.name())
        && column.newName().equals(other.newName())
        && continues(column.type(), other.type(), maxId);
  }

  /** Reads the JSON of a plan. */
  public static ColumnPlan parse(String json) throws IOException {
    return of(MAPPER.readTree(json));
  }

  /** Likewise, read already. */
  public static ColumnPlan of(JsonNode plan) {
    List<String> kept = new ArrayList<>();
    plan.required("kept").forEach(name -> kept.add(name.textValue()));
    return new ColumnPlan(
        plan.required("byId").booleanValue(), kept, columns(plan.required("columns")));
  }

  private static Columns columns(JsonNode array) {
    List<Column> columns = new ArrayList<>();
    for (JsonNode column : array) {
      columns.add(
          new Column(
              column.required("id").intValue(),
              column.required("name").textValue(),
              column.required("newName").textValue(),
              type(column.required("type"))));
    }
    return new Columns(columns);
  }

  private static Type type(JsonNode type) {
    if (type.has("struct")) {
      return new Struct(columns(type.get("struct")));
    }
    if (type.has("array")) {
      return new ListOf(type(type.get("array")));
    }
    if (type.has("map")) {
      return new MapOf(type(type.get("map").get(0)), type(type.get("map").get(1)));
    }
    return new Leaf();
  }
}
