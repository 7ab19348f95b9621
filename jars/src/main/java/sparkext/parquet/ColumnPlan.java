// SPDX-License-Identifier: Apache-2.0
package sparkext.parquet;

import java.io.Serializable;
import java.util.List;

/**
 * What becomes of the columns in data files; {@code spark_ext/removal/copy_plan.py} makes and
 * describes it.
 *
 * @param byId whether a file's columns are found by field id
 * @param keepsIds whether field ids stay, and what Spark's schema says of those whose name stays
 * @param kept names of columns that stay as they are
 * @param ignored names of columns that need no field id, and go
 */
public record ColumnPlan(
    boolean byId, boolean keepsIds, List<String> kept, List<String> ignored, Columns columns)
    implements Serializable {
  /**
   * Whether what another plan made of a file is what this one would make of it: all columns of that
   * plan are here, under the same names before and after. What there is besides came later, and is
   * in none of its files; RESTORE may bring back one that is in them.
   *
   * @param maxId the highest id that a column had until then
   */
  public boolean continues(ColumnPlan other, long maxId) {
    return byId == other.byId
        && kept.equals(other.kept)
        && columns.continueThose(other.columns, maxId);
  }

  /**
   * Whether what was made by this plan has every column of a later one: all that the other has are
   * here, or came later.
   *
   * @param maxId the highest id that a column had until then
   */
  public boolean hasAllOf(ColumnPlan later, long maxId) {
    return columns.haveAllOf(later.columns, maxId);
  }
}
