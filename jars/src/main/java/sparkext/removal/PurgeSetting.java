// SPDX-License-Identifier: Apache-2.0
package sparkext.removal;

import java.util.Optional;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.delta.SnapshotDescriptor;
import sparkext.files.CopySetting;
import sparkext.parquet.ColumnPlan;
import sparkext.wire.MetadataRules;

/**
 * How a session wants tables to be purged of dropped columns: {@code
 * spark.sparkext.columnMapping.purge}.
 */
final class PurgeSetting {
  private static final String KEY = "spark.sparkext.columnMapping.purge";

  private PurgeSetting() {}

  /**
   * What becomes of the columns in a table's files; nothing where purging it is left to Delta.
   *
   * @throws sparkext.error.UsageTrackingException USAGE_TRACKING_INVALID_SETTING; a failure of the
   *     rules
   */
  static Optional<ColumnPlan> plan(SparkSession session, SnapshotDescriptor table) {
    return CopySetting.of(session, KEY).copies(table.protocol())
        ? MetadataRules.purge(table.metadata())
        : Optional.empty();
  }
}
