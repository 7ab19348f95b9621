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
import sparkext.parquet.ColumnPlan.Column;

/** The columns of one level of a table, by what files know of them: tables may have thousands. */
public final class Columns implements Serializable {
  /** Of what has no columns. */
  public static final Columns NONE = new Columns(List.of());

  private static final long serialVersionUID = 1L;

  private final Map<String, Column> byName = new HashMap<>();
  private final Map<Integer, Column> byId = new HashMap<>();
  private final Set<String> lowerCaseNames = new HashSet<>();

  Columns(List<Column> columns) {
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
                        .map(other -> ColumnPlan.continues(column, other, maxId))
                        .orElse(column.id() > maxId));
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
