// SPDX-License-Identifier: Apache-2.0
package sparkext.sql;

import io.delta.tables.DeltaTable;
import java.util.List;
import java.util.function.BiFunction;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.ExpressionInfo;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.types.DataTypeUtils;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.delta.DeltaAnalysisException;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.errors.QueryCompilationErrors;
import org.apache.spark.sql.types.DataTypes;
import scala.Option;
import scala.Tuple3;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction1;
import sparkext.error.UsageTrackingException;
import sparkext.rule.MetadataRules;
import sparkext.rule.Relation;
import sparkext.rule.RequestJson;

/**
 * A table function of one argument, the name of a table: {@code SELECT * FROM
 * column_mapping('db.t')}.
 *
 * <p>Its rows are made by {@code spark_ext/worker/table_functions.py}. The table is read while the
 * query is analyzed.
 */
public final class TableFunction extends AbstractFunction1<Seq<Expression>, LogicalPlan> {
  private static final List<TableFunction> ALL =
      List.of(
          new TableFunction("column_mapping", RequestJson::table),
          new TableFunction("column_mapping_exit", RequestJson::tableFacts));

  private final String name;
  private final BiFunction<String, Snapshot, String> request;

  /**
   * @param request from the table's name and newest version to what the rules are told
   */
  private TableFunction(String name, BiFunction<String, Snapshot, String> request) {
    this.name = name;
    this.request = request;
  }

  /** Adds every table function to a session. */
  public static void inject(SparkSessionExtensions extensions) {
    for (TableFunction function : ALL) {
      extensions.injectTableFunction(
          new Tuple3<>(
              new FunctionIdentifier(function.name),
              new ExpressionInfo(TableFunction.class.getName(), function.name),
              function));
    }
  }

  @Override
  public LogicalPlan apply(Seq<Expression> arguments) {
    SparkSession session = SparkSession.active();
    String table = tableName(arguments);
    try {
      String told = request.apply(table, snapshot(session, table));
      Relation answer = MetadataRules.relation(name, told);
      List<Attribute> columns =
          List.copyOf(CollectionConverters.asJava(DataTypeUtils.toAttributes(answer.schema())));
      return LocalRelation.fromExternalRows(
          CollectionConverters.asScala(columns).toList(),
          CollectionConverters.asScala(answer.rows()).toList());
    } catch (UsageTrackingException failed) {
      throw failed.sneak();
    }
  }

  private String tableName(Seq<Expression> arguments) {
    if (arguments.size() != 1) {
      Seq<Object> one = CollectionConverters.asScala(List.<Object>of(1)).toList();
      throw UsageTrackingException.sneak(
          QueryCompilationErrors.wrongNumArgsError(name, one, arguments.size(), "", "", ""));
    }
    if (!(arguments.head() instanceof Literal argument)
        || !argument.dataType().equals(DataTypes.StringType)) {
      throw UsageTrackingException.sneak(
          QueryCompilationErrors.nonFoldableArgumentError(name, "table", DataTypes.StringType));
    }
    Object value = argument.value();
    if (value == null) {
      throw UsageTrackingException.sneak(QueryCompilationErrors.nullArgumentError(name, "table"));
    }
    return value.toString();
  }

  /** Finds the table as {@code DeltaTable.forName} does: by one to three parts, or by its path. */
  private static Snapshot snapshot(SparkSession session, String table) {
    try {
      DeltaLog log = DeltaTable.forName(session, table).deltaLog();
      return log.update(false, Option.empty(), Option.empty());
    } catch (Exception refused) {
      throw refused instanceof DeltaAnalysisException of
          ? UsageTrackingException.of(of).sneak()
          : UsageTrackingException.sneak(refused);
    }
  }
}
