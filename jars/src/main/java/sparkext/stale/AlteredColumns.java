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
 * What an ALTER TABLE means of a table: the columns that it names with those that they are in. A
 * change of a column also has the type that it had, so it means the columns in it; REPLACE COLUMNS
 * means all.
 */
record AlteredColumns(List<List<String>> named, boolean withInner) {
  static AlteredColumns of(AlterDeltaTableCommand alter) {
    if (alter instanceof AlterTableDropColumnsDeltaCommand drop) {
      return new AlteredColumns(
          CollectionConverters.asJava(drop.columnsToDrop()).stream()
              .map(AlteredColumns::names)
              .toList(),
          /* withInner= */ false);
    }
    if (alter instanceof AlterTableChangeColumnDeltaCommand command) {
      return new AlteredColumns(
          CollectionConverters.asJava(command.columnChanges()).stream()
              .map(AlteredColumns::changed)
              .toList(),
          /* withInner= */ true);
    }
    return new AlteredColumns(List.of(List.of()), /* withInner= */ true);
  }

  private static List<String> changed(DeltaChangeColumnSpec change) {
    return Stream.concat(names(change.columnPath()).stream(), Stream.of(change.columnName()))
        .toList();
  }

  private static List<String> names(Seq<String> path) {
    return CollectionConverters.asJava(path);
  }

  Set<Seq<String>> among(Set<Seq<String>> paths) {
    return paths.stream().filter(path -> mean(names(path))).collect(Collectors.toSet());
  }

  private boolean mean(List<String> column) {
    return named.stream()
        .anyMatch(name -> isWithin(name, column) || (withInner && isWithin(column, name)));
  }

  /** As Delta finds a column: whatever the case of the letters is. */
  private static boolean isWithin(List<String> inner, List<String> outer) {
    return outer.size() <= inner.size()
        && IntStream.range(0, outer.size())
            .allMatch(i -> outer.get(i).equalsIgnoreCase(inner.get(i)));
  }
}
