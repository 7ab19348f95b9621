// SPDX-License-Identifier: Apache-2.0
package sparkext.sql;

import java.util.List;
import java.util.concurrent.Callable;
import java.util.stream.IntStream;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.ExpressionInfo;
import org.apache.spark.sql.catalyst.expressions.RuntimeReplaceable;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.types.DataTypeUtils;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.delta.DeltaAnalysisException;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.errors.QueryCompilationErrors;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.NullType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructType;
import scala.Tuple3;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction1;
import sparkext.command.ColumnMappingRemoval;
import sparkext.command.LiveFiles;
import sparkext.command.RemovalSetting;
import sparkext.error.UsageTrackingException;
import sparkext.feature.UsageTrackingFeature;
import sparkext.release.Versions;
import sparkext.rule.MetadataRules;
import sparkext.rule.Relation;
import sparkext.rule.RequestJson;

/**
 * A table function whose first argument is the name of a table: {@code SELECT * FROM
 * column_mapping('db.t')}.
 *
 * <p>The table is read while the query is analyzed. What is said about column mapping is decided in
 * {@code spark_ext/worker/table_functions.py}; which table a name leads to, here.
 */
public final class TableFunction extends AbstractFunction1<Seq<Expression>, LogicalPlan> {
  private static final List<TableFunction> ALL =
      List.of(
          new TableFunction("column_mapping", null, TableFunction::columns),
          new TableFunction("column_mapping_exit", "exact", TableFunction::exits),
          new TableFunction("column_mapping_table", "isPath", TableFunction::named));

  private static final StructType NAMED =
      StructType.fromDDL(
          "name STRING, sqlName STRING, tracked BOOLEAN, hasDroppedOrRenamed STRING,"
              + " jarVersion STRING");

  private final String name;
  private final String option;
  private final Rows rows;

  /** What a function answers. */
  private interface Rows {
    Relation of(SparkSession session, String table, boolean option) throws UsageTrackingException;
  }

  /**
   * @param option the name of a second argument, a boolean that is false by default; or null
   */
  private TableFunction(String name, String option, Rows rows) {
    this.name = name;
    this.option = option;
    this.rows = rows;
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
    SurveyFunction.inject(extensions);
  }

  @Override
  public LogicalPlan apply(Seq<Expression> arguments) {
    return plan(() -> answer(CollectionConverters.asJava(arguments)));
  }

  /** The plan of what a function answers; what it throws reaches PySpark with its condition. */
  static LogicalPlan plan(Callable<Relation> function) {
    try {
      Relation answer = function.call();
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

  private static Relation columns(SparkSession session, String name, boolean unused)
      throws UsageTrackingException {
    NamedTable table = NamedTable.byName(session, name);
    return MetadataRules.relation(
        "column_mapping", RequestJson.table(table.name(), table.snapshot()));
  }

  private static Relation exits(SparkSession session, String name, boolean exact)
      throws UsageTrackingException {
    NamedTable table = NamedTable.byName(session, name);
    String request =
        RequestJson.tableFacts(
            table.sqlName(),
            table.snapshot(),
            LiveFiles.of(table.snapshot()),
            RemovalSetting.of(session).value(),
            exact ? ColumnMappingRemoval.count(session, table.snapshot()) : null);
    return MetadataRules.relation("column_mapping_exit", request);
  }

  /** For {@code spark_ext.UsageTracking}, which sees there whether the jar is of its version. */
  private static Relation named(SparkSession session, String given, boolean isPath)
      throws UsageTrackingException {
    NamedTable table =
        isPath
            ? NamedTable.byPath(session, given)
            : NamedTable.byName(session, given).requireUnambiguous(given);
    Snapshot snapshot = table.snapshot();
    boolean tracked = UsageTrackingFeature.isSupportedBy(snapshot.protocol());
    String flag =
        CollectionConverters.asJava(snapshot.metadata().configuration())
            .get(UsageTrackingFeature.FLAG);
    return new Relation(
        NAMED,
        List.of(RowFactory.create(table.name(), table.sqlName(), tracked, flag, Versions.ours())));
  }

  private Relation answer(List<Expression> arguments) throws UsageTrackingException {
    requireCount(name, arguments, 1, option == null ? 1 : 2);
    String table = value(name, arguments, 0, "table", DataTypes.StringType).toString();
    boolean given =
        arguments.size() == 2 && (boolean) value(name, arguments, 1, option, DataTypes.BooleanType);
    return rows.of(SparkSession.active(), table, given);
  }

  /** Refuses more arguments or fewer. */
  static void requireCount(String name, List<Expression> arguments, int least, int most) {
    if (arguments.size() < least || arguments.size() > most) {
      List<Object> counts = List.copyOf(IntStream.rangeClosed(least, most).boxed().toList());
      throw UsageTrackingException.sneak(
          QueryCompilationErrors.wrongNumArgsError(
              name, CollectionConverters.asScala(counts).toList(), arguments.size(), "", "", ""));
    }
  }

  /** An argument's value, which is known while the query is analyzed, and is not null. */
  static Object value(
      String name, List<Expression> arguments, int place, String parameter, DataType type) {
    Expression argument = arguments.get(place);
    if (!argument.foldable() || argument.exists(part -> part instanceof RuntimeReplaceable)) {
      throw UsageTrackingException.sneak(
          QueryCompilationErrors.nonFoldableArgumentError(name, parameter, type));
    }
    if (!isOf(argument.dataType(), type)) {
      throw UsageTrackingException.sneak(
          QueryCompilationErrors.unexpectedInputDataTypeError(name, place + 1, type, argument));
    }
    Object value = argument.eval(null);
    if (value == null) {
      throw UsageTrackingException.sneak(QueryCompilationErrors.nullArgumentError(name, parameter));
    }
    return value;
  }

  /** A string of any collation is a string. */
  private static boolean isOf(DataType given, DataType wanted) {
    return given instanceof NullType
        || (wanted instanceof StringType && given instanceof StringType)
        || (wanted instanceof BooleanType && given instanceof BooleanType)
        || (wanted instanceof ArrayType wantedArray
            && given instanceof ArrayType givenArray
            && isOf(givenArray.elementType(), wantedArray.elementType()));
  }
}
