// SPDX-License-Identifier: Apache-2.0
package sparkext.stale;

import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.connector.write.V1Write;
import org.apache.spark.sql.delta.DeltaDynamicPartitionOverwriteCommand;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.OptimisticTransaction;
import org.apache.spark.sql.delta.SnapshotDescriptor;
import org.apache.spark.sql.delta.catalog.WriteIntoDeltaBuilder;
import org.apache.spark.sql.delta.files.TahoeLogFileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.sources.InsertableRelation;

/**
 * Refuses an INSERT of which the analysis gave values to columns that have become others, before
 * its transaction began: Delta writes by name whatever was meant by position.
 */
public final class StaleInsert {
  /** The table that the INSERT in this thread was analysed with. */
  private static final ThreadLocal<SnapshotDescriptor> TARGET = new ThreadLocal<>();

  private StaleInsert() {}

  /** Delta's write, which tells its table while it runs. */
  private record Write(SnapshotDescriptor target, V1Write delta) implements V1Write {
    @Override
    public InsertableRelation toInsertableRelation() {
      InsertableRelation relation = delta.toInsertableRelation();
      return (Dataset<Row> rows, boolean overwrite) -> {
        TARGET.set(target);
        try {
          relation.insert(rows, overwrite);
        } finally {
          end();
        }
      };
    }

    @Override
    public String description() {
      return delta.description();
    }
  }

  /**
   * The write that remembers its table.
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
   * Remembers the table of an INSERT that begins in this thread.
   *
   * @param insert a {@code DeltaDynamicPartitionOverwriteCommand}, or the {@code HadoopFsRelation}
   *     that is written
   */
  public static void begin(Object insert) {
    if (insert instanceof DeltaDynamicPartitionOverwriteCommand command) {
      TARGET.set(command.deltaTable().initialSnapshot());
    } else if (insert instanceof HadoopFsRelation relation
        && relation.location() instanceof TahoeLogFileIndex index) {
      TARGET.set(index.snapshotAtAnalysis());
    }
  }

  /** Forgets it, where the INSERT began no transaction. */
  public static void end() {
    TARGET.remove();
  }

  /**
   * Throws DELTA_SCHEMA_CHANGE_SINCE_ANALYSIS where a column of the analysis is gone, or another
   * one has its name.
   *
   * @param log the {@code DeltaLog} of the table
   * @param transaction its {@code OptimisticTransaction}
   */
  public static void refuse(Object log, Object transaction) {
    SnapshotDescriptor target = TARGET.get();
    if (target != null && target.deltaLog().isSameLogAs((DeltaLog) log)) {
      // What follows its commit, such as auto compaction, has transactions of its own.
      end();
      new ChangeSinceAnalysis(target, ((OptimisticTransaction) transaction).snapshot())
          .requireInsertable();
    }
  }
}
