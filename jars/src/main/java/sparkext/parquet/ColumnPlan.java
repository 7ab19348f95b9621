// SPDX-License-Identifier: Apache-2.0
package sparkext.parquet;

import java.io.Serializable;
import java.util.List;

/**
 * Contains the columns of data files that are kept, and their new names. {@code
 * spark_ext/removal/copy_plan.py} makes and describes the plan.
 *
 * @param byId whether columns of a file are found by field id
 * @param keepsIds whether the copy keeps field ids; Spark's schema in the footer then keeps the ids
 *     of columns that are not renamed
 * @param kept the names of columns that are kept unchanged
 * @param ignored the names of columns that may lack a field id, and are dropped
 */
public record ColumnPlan(
    boolean byId, boolean keepsIds, List<String> kept, List<String> ignored, Columns columns)
    implements Serializable {
  /**
   * Returns whether a copy by an earlier plan equals a copy by this plan. All columns of the
   * earlier plan must be in this plan under the same names. Columns that only this plan has must be
   * newer than the earlier plan: RESTORE may restore an older column, which the copies lack.
   *
   * @param maxId the highest column id at the time of the earlier plan
   */
  public boolean continues(ColumnPlan earlier, long maxId) {
    return byId == earlier.byId
        && kept.equals(earlier.kept)
        && columns.continues(earlier.columns, maxId);
  }

  /**
   * Returns whether a copy by this plan is complete for a later plan: each column of the later plan
   * is in this plan, or newer than this plan.
   *
   * @param maxId the highest column id at the time of this plan
   */
  public boolean containsAllOf(ColumnPlan later, long maxId) {
    return columns.containsAllOf(later.columns, maxId);
  }
}
