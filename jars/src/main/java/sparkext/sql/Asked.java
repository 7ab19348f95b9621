// SPDX-License-Identifier: Apache-2.0
package sparkext.sql;

import java.util.List;
import java.util.concurrent.Callable;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.delta.DeltaAnalysisException;
import sparkext.error.UsageTrackingException;
import sparkext.wire.Relation;

/**
 * What a table function is asked.
 *
 * @param relations the tables that the answer is about, as a SELECT has them
 * @param answer reads them; is called once the session allows a query of the relations
 */
record Asked(List<LogicalPlan> relations, Callable<Relation> answer) {
  /** Calls what may throw anything; the error reaches PySpark with its condition. */
  static <T> T call(Callable<T> callable) {
    try {
      return callable.call();
    } catch (Exception refused) { // Scala declares no checked exception: Delta's are some
      throw refused instanceof DeltaAnalysisException of
          ? UsageTrackingException.of(of).sneak()
          : UsageTrackingException.sneak(refused);
    }
  }
}
