// SPDX-License-Identifier: Apache-2.0
package sparkext.stale;

import org.apache.spark.sql.delta.WinningCommitSummary;
import org.apache.spark.sql.delta.actions.Metadata;

/** Whether what was written without column mapping can be read after another switched it on. */
public final class RebasedNames {
  private RebasedNames() {}

  /**
   * Whether the columns of the winner have in the files the names that the loser wrote, and are the
   * same: not those of another version.
   *
   * @param winner a {@code WinningCommitSummary}
   * @param metadata its {@code Metadata}, with column mapping
   */
  public static boolean fit(Object winner, Object metadata) {
    return ColumnNames.of((Metadata) metadata).areOwn()
        && !((WinningCommitSummary) winner)
            .commitInfo()
            .exists(info -> NameHistory.isBringing(info.operation()));
  }
}
