// SPDX-License-Identifier: Apache-2.0
package sparkext.sql;

import java.io.IOException;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.delta.DeltaConfigs;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.actions.Metadata;
import org.apache.spark.unsafe.types.CalendarInterval;
import sparkext.error.UsageTrackingException;
import sparkext.log.TableFolder;
import sparkext.release.SparkCalls;
import sparkext.wire.MetadataRules;
import sparkext.wire.Question;
import sparkext.wire.Relation;

/** Where the data of a table's dropped columns is. */
final class DroppedColumns {
  private DroppedColumns() {}

  /**
   * A row for each column.
   *
   * @throws UsageTrackingException USAGE_TRACKING_UNREADABLE_LOG
   */
  static Relation of(SparkSession session, NamedTable table, Object none)
      throws UsageTrackingException, IOException {
    Snapshot snapshot = table.snapshot();
    TableFolder folder = StagedCommits.reading(session, snapshot).folder();
    Metadata metadata = snapshot.metadata();
    return MetadataRules.relation(
        "column_mapping_dropped",
        new Question.TablePlaces(
            table.sqlName(),
            folder.log(),
            System.currentTimeMillis(),
            millis(DeltaConfigs.TOMBSTONE_RETENTION().fromMetaData(metadata)),
            millis(DeltaConfigs.LOG_RETENTION().fromMetaData(metadata)),
            (boolean) DeltaConfigs.ENABLE_EXPIRED_LOG_CLEANUP().fromMetaData(metadata),
            SparkCalls.canReorg(Snapshot.class.getClassLoader()),
            folder.logFiles(),
            folder.boundaries()));
  }

  private static long millis(CalendarInterval interval) {
    return DeltaConfigs.getMilliSeconds(interval);
  }
}
