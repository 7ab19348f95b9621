// SPDX-License-Identifier: Apache-2.0
package sparkext.stale;

import java.util.function.Consumer;
import org.apache.spark.sql.connector.write.V1Write;
import org.apache.spark.sql.delta.DeltaDynamicPartitionOverwriteCommand;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.OptimisticTransaction;
import org.apache.spark.sql.delta.SnapshotDescriptor;
import org.apache.spark.sql.delta.UsageTrackingBridge;
import org.apache.spark.sql.delta.catalog.WriteIntoDeltaBuilder;
import org.apache.spark.sql.delta.commands.AlterDeltaTableCommand;
import org.apache.spark.sql.delta.commands.MergeIntoCommand;
import org.apache.spark.sql.delta.files.TahoeLogFileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.sources.InsertableRelation;

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
}
