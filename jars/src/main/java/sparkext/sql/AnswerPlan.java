// SPDX-License-Identifier: Apache-2.0
package sparkext.sql;

import java.util.List;
import java.util.concurrent.Callable;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.types.DataTypeUtils;
import org.apache.spark.sql.delta.DeltaAnalysisException;
import scala.jdk.javaapi.CollectionConverters;
import sparkext.error.UsageTrackingException;
import sparkext.jobs.JobNames;
import sparkext.wire.Relation;

/** The plan of what a table function answers. */
final class AnswerPlan {
  private AnswerPlan() {}

  /** Asks the function; what it throws reaches PySpark with its condition. */
  static LogicalPlan of(Callable<Relation> function) {
    try {
      Relation answer = JobNames.ofStatement(SparkSession.active().sparkContext(), function::call);
      List<Attribute> columns =
          List.copyOf(CollectionConverters.asJava(DataTypeUtils.toAttributes(answer.schema())));
      return LocalRelation.fromExternalRows(
          CollectionConverters.asScala(columns).toList(),
          CollectionConverters.asScala(answer.rows()).toList());
    } catch (Exception refused) { // Scala declares no checked exception: Delta's are some
      throw refused instanceof DeltaAnalysisException of
          ? UsageTrackingException.of(of).sneak()
          : UsageTrackingException.sneak(refused);
    }
  }
}
