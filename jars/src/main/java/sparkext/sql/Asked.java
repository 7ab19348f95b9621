// SPDX-License-Identifier: Apache-2.0
package sparkext.sql;

import java.util.List;
import java.util.concurrent.Callable;
import org.apache.spark.sql.AnalysisException;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.delta.DeltaAnalysisException;
import sparkext.error.UsageTrackingErrors;
import sparkext.error.UsageTrackingException;
import sparkext.jobs.JobNames;
import sparkext.wire.Relation;

/**
 * What a table function is asked.
 *
 * @param relations the tables that the answer is about, as a SELECT has them
 * @param answer reads them; is called once the session allows a query of the relations
 */
record Asked(List<LogicalPlan> relations, Callable<Relation> answer) {
  /**
   * Calls what may throw anything; whatever it throws reaches PySpark as an AnalysisException.
   *
   * @param function its name, for an error that does not say it
   */
  static <T> T call(String function, Callable<T> callable) {
    try {
      return JobNames.ofStatement(SparkSession.active().sparkContext(), callable::call);
    } catch (Exception error) { // Scala declares no checked exception: Delta's are some
      throw UsageTrackingException.sneakyThrow(
          isLeftAsItIs(error) ? error : UsageTrackingErrors.ofFunction(function, error));
    }
  }

  /** Spark's own refusals reach PySpark; of Delta's, PySpark looks the text up in Spark's list. */
  private static boolean isLeftAsItIs(Exception error) {
    boolean isRefusal = error instanceof AnalysisException;
    return (isRefusal && !(error instanceof DeltaAnalysisException)) || TableFailure.isStop(error);
  }
}
