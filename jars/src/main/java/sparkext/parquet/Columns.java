// SPDX-License-Identifier: Apache-2.0
package sparkext.parquet;

import java.io.Serializable;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.Set;

/** The columns of one level of a table, by what files know of them: tables may have thousands. */
public final class Columns implements Serializable {
  /** Of what has no columns. */
  public static final Columns NONE = new Columns(List.of());

  private static final long serialVersionUID = 1L;

  /** A column of the table: its id, its name in files, and its name afterwards. */
  public record Column(int id, String name, String newName, Type type) implements Serializable {
    /** Whether this is another one, as that was before. */
    private boolean continues(Column other, long maxId) {
      return id == other.id
          && name.equals(other.name)
          && newName.equals(other.newName)
          && Columns.continues(type, other.type, maxId);
    }
  }

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

  private final Map<String, Column> byName = new HashMap<>();
  private final Map<Integer, Column> byId = new HashMap<>();
  private final Set<String> lowerCaseNames = new HashSet<>();

  /** Of one level. */
  public Columns(List<Column> columns) {
    for (Column column : columns) {
      byName.put(column.name(), column);
      byId.put(column.id(), column);
      lowerCaseNames.add(column.name().toLowerCase(Locale.ROOT));
    }
  }

  /** The column that has a name in files. */
  public Optional<Column> named(String name) {
    return Optional.ofNullable(byName.get(name));
  }

  /** What the column that will have a new name is called in files. */
  public String nameOf(String newName) {
    for (Column column : byName.values()) {
      if (column.newName().equals(newName)) {
        return column.name();
      }
    }
    throw new NoSuchElementException(newName);
  }

  /** Whether all columns of another version of the level are here as they were, and new ones. */
  boolean continueThose(Columns others, long maxId) {
    return others.byName.keySet().stream().allMatch(byName::containsKey)
        && byName.values().stream()
            .allMatch(
                column ->
                    others
                        .named(column.name())
                        .map(other -> column.continues(other, maxId))
                        .orElse(column.id() > maxId));
  }

  /** Whether each column of a later version of the level is here, or is a new one. */
  boolean haveAllOf(Columns later, long maxId) {
    return later.byName.values().stream()
        .allMatch(
            column ->
                named(column.name())
                    .map(known -> hasAllOf(known.type(), column.type(), maxId))
                    .orElse(column.id() > maxId));
  }

  private static boolean hasAllOf(Type type, Type later, long maxId) {
    if (type instanceof Struct struct && later instanceof Struct now) {
      return struct.columns().haveAllOf(now.columns(), maxId);
    }
    if (type instanceof ListOf list && later instanceof ListOf now) {
      return hasAllOf(list.element(), now.element(), maxId);
    }
    if (type instanceof MapOf map && later instanceof MapOf now) {
      return hasAllOf(map.key(), now.key(), maxId) && hasAllOf(map.value(), now.value(), maxId);
    }
    return type instanceof Leaf && later instanceof Leaf;
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

  /** The column that has a field id. */
  Optional<Column> of(int id) {
    return Optional.ofNullable(byId.get(id));
  }

  /** Whether a column has this name, or would have it in another letter case. */
  boolean hasInAnyCase(String name) {
    return lowerCaseNames.contains(name.toLowerCase(Locale.ROOT));
  }
}
