// SPDX-License-Identifier: Apache-2.0
package sparkext.stale;

import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.spark.sql.delta.commands.AlterDeltaTableCommand;
import org.apache.spark.sql.delta.commands.AlterTableChangeColumnDeltaCommand;
import org.apache.spark.sql.delta.commands.AlterTableDropColumnsDeltaCommand;
import org.apache.spark.sql.delta.commands.DeltaChangeColumnSpec;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The columns that an ALTER TABLE depends on: the columns that the statement names, and the structs
 * around them. A change of a column repeats the column's type, so the change depends on nested
 * columns too. REPLACE COLUMNS depends on all columns.
 *
 * @param named the paths of the named columns; an empty path names the table
 * @param includesNested true if the statement depends on columns inside of the named columns
 */
record AlteredColumns(List<List<String>> named, boolean includesNested) {
  static AlteredColumns of(AlterDeltaTableCommand alter) {
    if (alter instanceof AlterTableDropColumnsDeltaCommand drop) {
      return new AlteredColumns(
          CollectionConverters.asJava(drop.columnsToDrop()).stream()
              .map(AlteredColumns::names)
              .toList(),
          /* includesNested= */ false);
    }
    if (alter instanceof AlterTableChangeColumnDeltaCommand command) {
      return new AlteredColumns(
          CollectionConverters.asJava(command.columnChanges()).stream()
              .map(AlteredColumns::changed)
              .toList(),
          /* includesNested= */ true);
    }
    return new AlteredColumns(List.of(List.of()), /* includesNested= */ true);
  }

  private static List<String> changed(DeltaChangeColumnSpec change) {
    return Stream.concat(names(change.columnPath()).stream(), Stream.of(change.columnName()))
        .toList();
  }

  private static List<String> names(Seq<String> path) {
    return CollectionConverters.asJava(path);
  }

  /** Returns the paths that the statement depends on. */
  Set<Seq<String>> among(Set<Seq<String>> paths) {
    return paths.stream().filter(path -> includes(names(path))).collect(Collectors.toSet());
  }

  private boolean includes(List<String> column) {
    return named.stream()
        .anyMatch(name -> isWithin(name, column) || (includesNested && isWithin(column, name)));
  }

  /** Compares names as Delta does, without regard to case. */
  private static boolean isWithin(List<String> inner, List<String> outer) {
    return outer.size() <= inner.size()
        && IntStream.range(0, outer.size())
            .allMatch(i -> outer.get(i).equalsIgnoreCase(inner.get(i)));
  }
}
