// SPDX-License-Identifier: Apache-2.0
package sparkext.stale;

import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.spark.sql.connector.write.V1Write;
import org.apache.spark.sql.delta.DeltaDynamicPartitionOverwriteCommand;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.OptimisticTransaction;
import org.apache.spark.sql.delta.SnapshotDescriptor;
import org.apache.spark.sql.delta.UsageTrackingBridge;
import org.apache.spark.sql.delta.catalog.WriteIntoDeltaBuilder;
import org.apache.spark.sql.delta.commands.AlterDeltaTableCommand;
import org.apache.spark.sql.delta.commands.AlterTableChangeColumnDeltaCommand;
import org.apache.spark.sql.delta.commands.AlterTableDropColumnsDeltaCommand;
import org.apache.spark.sql.delta.commands.DeltaChangeColumnSpec;
import org.apache.spark.sql.delta.commands.MergeIntoCommand;
import org.apache.spark.sql.delta.files.TahoeLogFileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.sources.InsertableRelation;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Refuses a statement whose columns changed between its analysis and its transaction. Delta writes
 * an INSERT by name, even if the statement named columns by position. Delta inserts by position in
 * a MERGE, and finds the columns of an ALTER TABLE by name.
 */
public final class StaleStatement {
  /** The table that the statement in this thread was analysed with. */
  private static final ThreadLocal<Target> TARGET = new ThreadLocal<>();

  private StaleStatement() {}

  /** An analysed table, and the check of the statement on it. */
  private record Target(SnapshotDescriptor table, Consumer<ChangeSinceAnalysis> check) {
    static Target ofInsert(SnapshotDescriptor table) {
      return new Target(table, ChangeSinceAnalysis::requireInsertable);
    }
  }

  /** Delta's write, during which the table is remembered. */
  private record Write(SnapshotDescriptor target, V1Write delta) implements V1Write {
    @Override
    public InsertableRelation toInsertableRelation() {
      return (InsertableRelation)
          UsageTrackingBridge.around(
              () -> TARGET.set(Target.ofInsert(target)),
              delta.toInsertableRelation(),
              StaleStatement::end);
    }

    @Override
    public String description() {
      return delta.description();
    }
  }

  /**
   * Returns a write that remembers its table while it runs.
   *
   * @param builder a {@code WriteIntoDeltaBuilder}
   * @param write the {@code V1Write} that it built
   */
  public static Object remembering(Object builder, Object write) {
    return new Write(
        ((WriteIntoDeltaBuilder) builder)
            .org$apache$spark$sql$delta$catalog$WriteIntoDeltaBuilder$$table.initialSnapshot(),
        (V1Write) write);
  }

  /**
   * Remembers the table of a statement that begins in this thread.
   *
   * @param statement a {@code DeltaDynamicPartitionOverwriteCommand}, a {@code MergeIntoCommand},
   *     an {@code AlterDeltaTableCommand}, or the {@code HadoopFsRelation} that is written
   */
  public static void begin(Object statement) {
    if (statement instanceof DeltaDynamicPartitionOverwriteCommand command) {
      TARGET.set(Target.ofInsert(command.deltaTable().initialSnapshot()));
    } else if (statement instanceof AlterDeltaTableCommand alter) {
      AlteredColumns columns = AlteredColumns.of(alter);
      TARGET.set(
          new Target(
              alter.table().initialSnapshot(), change -> change.requireColumns(columns::among)));
    } else if (statement instanceof MergeIntoCommand merge
        && merge.targetFileIndex() instanceof TahoeLogFileIndex index) {
      // If the MERGE reads no file, nothing else compares its columns.
      TARGET.set(
          new Target(
              index.snapshotAtAnalysis(),
              merge.notMatchedClauses().isEmpty()
                  ? ChangeSinceAnalysis::requireReadable
                  : ChangeSinceAnalysis::requireMergeable));
    } else if (statement instanceof HadoopFsRelation relation
        && relation.location() instanceof TahoeLogFileIndex index) {
      TARGET.set(Target.ofInsert(index.snapshotAtAnalysis()));
    }
  }

  /** Forgets the table at the end of the statement, which may have begun no transaction. */
  public static void end() {
    TARGET.remove();
  }

  /**
   * Throws DELTA_SCHEMA_CHANGE_SINCE_ANALYSIS if the check of the statement in this thread fails.
   *
   * @param log the {@code DeltaLog} of the table
   * @param transaction its {@code OptimisticTransaction}
   */
  public static void refuse(Object log, Object transaction) {
    Target target = TARGET.get();
    if (target != null && target.table().deltaLog().isSameLogAs((DeltaLog) log)) {
      // Statements that follow the commit, such as auto compaction, begin other transactions.
      end();
      target
          .check()
          .accept(
              new ChangeSinceAnalysis(
                  target.table(), ((OptimisticTransaction) transaction).snapshot()));
    }
  }

  /**
   * The columns that an ALTER TABLE depends on: the columns that the statement names, and the
   * structs around them. A change of a column repeats the column's type, so the change depends on
   * nested columns too. REPLACE COLUMNS depends on all columns.
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
}
