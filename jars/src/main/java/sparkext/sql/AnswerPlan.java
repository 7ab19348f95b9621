// SPDX-License-Identifier: Apache-2.0
package sparkext.sql;

import java.util.List;
import java.util.concurrent.Callable;
import org.apache.spark.sql.AnalysisException;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.types.DataTypeUtils;
import org.apache.spark.sql.delta.DeltaAnalysisException;
import scala.jdk.javaapi.CollectionConverters;
import sparkext.error.UsageTrackingErrors;
import sparkext.error.UsageTrackingException;
import sparkext.wire.Relation;

/** The plan of what a table function answers. */
final class AnswerPlan {
  private AnswerPlan() {}

  /**
   * Calls the function; whatever it throws reaches PySpark as an AnalysisException.
   *
   * @param name the function's, for an error that says nothing of it
   */
  static LogicalPlan of(String name, Callable<Relation> function) {
    try {
      Relation answer = function.call();
      List<Attribute> columns =
          List.copyOf(CollectionConverters.asJava(DataTypeUtils.toAttributes(answer.schema())));
      return LocalRelation.fromExternalRows(
          CollectionConverters.asScala(columns).toList(),
          CollectionConverters.asScala(answer.rows()).toList());
    } catch (Exception error) { // Scala declares no checked exception: Delta's are some
      throw UsageTrackingException.sneak(
          isLeftAsItIs(error) ? error : UsageTrackingErrors.ofFunction(name, error));
    }
  }

  /** Spark's own refusals reach PySpark; of Delta's, PySpark looks the text up in Spark's list. */
  private static boolean isLeftAsItIs(Exception error) {
    boolean isRefusal = error instanceof AnalysisException;
    return (isRefusal && !(error instanceof DeltaAnalysisException)) || TableFailure.isStop(error);
  }
}
