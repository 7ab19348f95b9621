// SPDX-License-Identifier: Apache-2.0
package sparkext.sql;

import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.ExpressionInfo;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.errors.QueryCompilationErrors;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataTypes;
import scala.Tuple3;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction1;
import sparkext.common.UsageTrackingException;

/**
 * A table function over many tables: {@code SELECT * FROM column_mapping_survey('schema')}.
 *
 * <p>Without an argument the function lists the current schema, as {@code SHOW TABLES}.
 */
final class SurveyFunction extends AbstractFunction1<Seq<Expression>, LogicalPlan> {
  private static final String TABLES = "column_mapping_tables";

  private final String name;

  private SurveyFunction(String name) {
    this.name = name;
  }

  static void inject(SparkSessionExtensions extensions) {
    for (String name : List.of(Survey.NAME, TABLES)) {
      extensions.injectTableFunction(
          new Tuple3<>(
              new FunctionIdentifier(name),
              new ExpressionInfo(SurveyFunction.class.getName(), name),
              new SurveyFunction(name)));
    }
  }

  @Override
  public LogicalPlan apply(Seq<Expression> arguments) {
    Arguments given = new Arguments(name, CollectionConverters.asJava(arguments));
    return new UnresolvedCall(name, () -> tables(given));
  }

  private FoundTables tables(Arguments arguments) throws UsageTrackingException {
    arguments.requireCount(0, 1);
    SparkSession session = SparkSession.active();
    boolean isSurvey = name.equals(Survey.NAME);
    if (isSurvey
        && arguments.count() > 0
        && arguments.given().get(0).dataType() instanceof ArrayType) {
      return Survey.of(session, texts(arguments));
    }
    String where =
        arguments.count() == 0
            ? null
            : arguments.value(0, "schema", DataTypes.StringType).toString();
    return isSurvey ? Survey.of(session, where) : Survey.listed(session, where);
  }

  private List<String> texts(Arguments arguments) {
    ArrayType texts = DataTypes.createArrayType(DataTypes.StringType);
    ArrayData value = (ArrayData) arguments.value(0, "tables", texts);
    return Arrays.stream(value.toObjectArray(DataTypes.StringType)).map(this::text).toList();
  }

  private String text(Object element) {
    if (element == null) {
      throw UsageTrackingException.sneakyThrow(
          QueryCompilationErrors.nullArgumentError(name, "tables"));
    }
    return element.toString();
  }
}
