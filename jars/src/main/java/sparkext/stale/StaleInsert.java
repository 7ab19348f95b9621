// SPDX-License-Identifier: Apache-2.0
package sparkext.stale;

import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.connector.write.V1Write;
import org.apache.spark.sql.delta.DeltaErrors;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.OptimisticTransaction;
import org.apache.spark.sql.delta.actions.Metadata;
import org.apache.spark.sql.delta.catalog.DeltaTableV2;
import org.apache.spark.sql.delta.catalog.WriteIntoDeltaBuilder;
import org.apache.spark.sql.sources.InsertableRelation;
import sparkext.error.UsageTrackingException;

/**
 * Refuses an INSERT of which the analysis gave values to columns that have become others, before
 * its transaction began: Delta writes by name whatever was meant by position.
 */
public final class StaleInsert {
  /** The table of the INSERT that runs in this thread. */
  private static final ThreadLocal<DeltaTableV2> TARGET = new ThreadLocal<>();

  private StaleInsert() {}

  /** Delta's write, which tells its table while it runs. */
  private record Write(DeltaTableV2 table, V1Write delta) implements V1Write {
    @Override
    public InsertableRelation toInsertableRelation() {
      InsertableRelation relation = delta.toInsertableRelation();
      return (Dataset<Row> rows, boolean overwrite) -> {
        TARGET.set(table);
        try {
          relation.insert(rows, overwrite);
        } finally {
          TARGET.remove();
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
            .org$apache$spark$sql$delta$catalog$WriteIntoDeltaBuilder$$table,
        (V1Write) write);
  }

  /**
   * Throws DELTA_SCHEMA_CHANGE_SINCE_ANALYSIS where a column of the analysis is gone, or another
   * one has its name.
   *
   * @param log the {@code DeltaLog} of the table
   * @param transaction its {@code OptimisticTransaction}
   */
  public static void refuse(Object log, Object transaction) {
    DeltaTableV2 target = TARGET.get();
    if (target == null || !target.deltaLog().isSameLogAs((DeltaLog) log)) {
      return;
    }
    // What follows its commit, such as auto compaction, has transactions of its own.
    TARGET.remove();
    Metadata analysed = target.initialSnapshot().metadata();
    Metadata newest = ((OptimisticTransaction) transaction).metadata();
    if (!analysed.schemaString().equals(newest.schemaString())
        && !ColumnNames.of(analysed).areStillIn(ColumnNames.of(newest))) {
      throw UsageTrackingException.sneak(
          DeltaErrors.schemaChangedSinceAnalysis(
              analysed.schema(), newest.schema(), /* mentionLegacyFlag= */ false));
    }
  }
}
