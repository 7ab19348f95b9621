// SPDX-License-Identifier: Apache-2.0
package sparkext.sql;

import java.util.List;
import java.util.concurrent.Callable;
import org.apache.spark.sql.AnalysisException;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.delta.DeltaAnalysisException;
import org.apache.spark.sql.types.StructType;
import sparkext.common.JobNames;
import sparkext.common.UsageTrackingErrors;
import sparkext.common.UsageTrackingException;

/**
 * The call of a table function, whose tables are found.
 *
 * @param columns of the rows
 * @param relations the tables of the rows, as a SELECT has them
 * @param answer reads the tables after the session has allowed a query of the relations
 */
record FoundTables(StructType columns, List<LogicalPlan> relations, Callable<List<Row>> answer) {
  /**
   * Calls a function. PySpark gets any exception as an AnalysisException, except an interrupt or a
   * cancelled job.
   *
   * @param function its name, for the text of an error
   */
  static <T> T call(String function, Callable<T> callable) {
    try {
      return JobNames.ofStatement(SparkSession.active().sparkContext(), callable::call);
    } catch (Exception error) { // Scala declares no checked exceptions
      throw UsageTrackingException.sneakyThrow(
          isThrownUnchanged(error) ? error : UsageTrackingErrors.ofFunction(function, error));
    }
  }

  /**
   * Returns false for Delta's exceptions: PySpark would look up their conditions in Spark's list.
   */
  private static boolean isThrownUnchanged(Exception error) {
    boolean isRefusal = error instanceof AnalysisException;
    return (isRefusal && !(error instanceof DeltaAnalysisException))
        || UsageTrackingErrors.isStop(error);
  }
}
