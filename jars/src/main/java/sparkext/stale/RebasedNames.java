// SPDX-License-Identifier: Apache-2.0
package sparkext.stale;

import org.apache.spark.sql.delta.actions.Metadata;

/** Whether what was written without column mapping can be read after another switched it on. */
public final class RebasedNames {
  private RebasedNames() {}

  /**
   * Whether the columns of the winner have in the files the names that the loser wrote.
   *
   * @param current a {@code Metadata} without column mapping
   * @param winning one of the same columns with it
   */
  public static boolean fit(Object current, Object winning) {
    return ColumnNames.of((Metadata) winning).areOwn();
  }
}
