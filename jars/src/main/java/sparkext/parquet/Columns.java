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
import java.util.function.BiPredicate;

/** The columns of a table or a struct, indexed by name and id, because tables have thousands. */
public final class Columns implements Serializable {
  public static final Columns NONE = new Columns(List.of());

  private static final long serialVersionUID = 1L;

  /** A column with its name in files and its name in copies. */
  public record Column(int id, String name, String newName, Type type) implements Serializable {
    private boolean continues(Column earlier, long maxId) {
      return id == earlier.id
          && name.equals(earlier.name)
          && newName.equals(earlier.newName)
          && match(type, earlier.type, (now, before) -> now.continues(before, maxId));
    }
  }

  /** The type of a column, as far as it contains columns. */
  public sealed interface Type extends Serializable {}

  /** A type without columns. */
  public record Leaf() implements Type {}

  /** A struct. */
  public record Struct(Columns columns) implements Type {}

  /** A list. */
  public record ListOf(Type element) implements Type {}

  /** A map. */
  public record MapOf(Type key, Type value) implements Type {}

  private final Map<String, Column> byName = new HashMap<>();
  private final Map<Integer, Column> byId = new HashMap<>();
  private final Set<String> lowerCaseNames = new HashSet<>();

  /** Indexes the columns of one level. */
  public Columns(List<Column> columns) {
    for (Column column : columns) {
      byName.put(column.name(), column);
      byId.put(column.id(), column);
      lowerCaseNames.add(column.name().toLowerCase(Locale.ROOT));
    }
  }

  /** Returns the column with a name in files. */
  public Optional<Column> named(String name) {
    return Optional.ofNullable(byName.get(name));
  }

  /** Returns the name in files of the column with a name in copies. */
  public String nameOf(String newName) {
    for (Column column : byName.values()) {
      if (column.newName().equals(newName)) {
        return column.name();
      }
    }
    throw new NoSuchElementException(newName);
  }

  /** Returns whether all earlier columns are here, unchanged, and all others have higher ids. */
  boolean continues(Columns earlier, long maxId) {
    return earlier.byName.keySet().stream().allMatch(byName::containsKey)
        && byName.values().stream()
            .allMatch(
                column ->
                    earlier
                        .named(column.name())
                        .map(before -> column.continues(before, maxId))
                        .orElse(column.id() > maxId));
  }

  /** Returns whether all later columns are here or have higher ids. */
  boolean containsAllOf(Columns later, long maxId) {
    return later.byName.values().stream()
        .allMatch(
            column ->
                named(column.name())
                    .map(
                        known ->
                            match(
                                known.type(),
                                column.type(),
                                (here, there) -> here.containsAllOf(there, maxId)))
                    .orElse(column.id() > maxId));
  }

  /** Returns whether two types have the same shape and their structs fulfil a predicate. */
  private static boolean match(Type type, Type other, BiPredicate<Columns, Columns> structs) {
    if (type instanceof Struct struct && other instanceof Struct its) {
      return structs.test(struct.columns(), its.columns());
    }
    if (type instanceof ListOf list && other instanceof ListOf its) {
      return match(list.element(), its.element(), structs);
    }
    if (type instanceof MapOf map && other instanceof MapOf its) {
      return match(map.key(), its.key(), structs) && match(map.value(), its.value(), structs);
    }
    return type instanceof Leaf && other instanceof Leaf;
  }

  /** Returns the column with a field id. */
  Optional<Column> withId(int id) {
    return Optional.ofNullable(byId.get(id));
  }

  /** Returns whether a column has this name in any letter case. */
  boolean hasInAnyCase(String name) {
    return lowerCaseNames.contains(name.toLowerCase(Locale.ROOT));
  }
}
