// SPDX-License-Identifier: Apache-2.0
package sparkext.sql;

import java.io.IOException;
import java.util.List;
import org.apache.spark.sql.AnalysisException;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.ExpressionInfo;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import scala.Tuple3;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction1;
import sparkext.error.UsageTrackingException;
import sparkext.feature.UsageTrackingFeature;
import sparkext.files.LiveFiles;
import sparkext.leave.LeavingCommand;
import sparkext.leave.LeavingSetting;
import sparkext.log.TableLog;
import sparkext.release.Versions;
import sparkext.wire.MetadataRules;
import sparkext.wire.Question;
import sparkext.wire.Relation;

/**
 * A table function whose first argument is the name of a table: {@code SELECT * FROM
 * column_mapping('db.t')}.
 *
 * <p>The table is read while the query is analyzed. What is said about column mapping is decided in
 * {@code spark_ext/process/table_functions.py}; which table a name leads to, here.
 */
public final class TableFunction extends AbstractFunction1<Seq<Expression>, LogicalPlan> {
  private static final List<TableFunction> ALL =
      List.of(
          new TableFunction("column_mapping", null, TableFunction::columns),
          new TableFunction("column_mapping_exit", option("exact"), TableFunction::exits),
          new TableFunction("column_mapping_named_table", option("isPath"), TableFunction::named),
          logged("column_mapping_history"),
          logged("column_mapping_status"),
          new TableFunction("column_mapping_dropped", null, DroppedColumns::of),
          new TableFunction(
              "column_mapping_audit",
              new Option("sample", DataTypes.IntegerType, null),
              (session, table, sample) -> TableAudit.of(session, table, (Integer) sample)));

  private static final StructType NAMED =
      StructType.fromDDL(
          "name STRING, sqlName STRING, tracked BOOLEAN, hasDroppedOrRenamed STRING,"
              + " jarVersion STRING, version BIGINT");

  private final String name;
  private final Option option;
  private final Rows rows;

  /** A second argument. */
  private record Option(String name, DataType type, Object byDefault) {}

  /** What a function answers. */
  private interface Rows {
    Relation of(SparkSession session, String table, Object option)
        throws UsageTrackingException, IOException, AnalysisException;
  }

  /**
   * @param option null where there is no second argument
   */
  private TableFunction(String name, Option option, Rows rows) {
    this.name = name;
    this.option = option;
    this.rows = rows;
  }

  private static Option option(String name) {
    return new Option(name, DataTypes.BooleanType, false);
  }

  /** A function of what changed a table's metadata. */
  private static TableFunction logged(String function) {
    return new TableFunction(
        function,
        null,
        (session, name, none) -> {
          NamedTable table = NamedTable.byName(session, name);
          TableLog log = StagedCommits.log(session, table.snapshot()).metadata();
          return MetadataRules.relation(function, new Question.NamedLog(table.name(), log));
        });
  }

  /** Adds every table function to a session, and what asks them. */
  public static void inject(SparkSessionExtensions extensions) {
    for (TableFunction function : ALL) {
      extensions.injectTableFunction(
          new Tuple3<>(
              new FunctionIdentifier(function.name),
              new ExpressionInfo(TableFunction.class.getName(), function.name),
              function));
    }
    SurveyFunction.inject(extensions);
    UnresolvedAnswer.inject(extensions);
  }

  /** The rule of a session that runs already. */
  public static Rule<LogicalPlan> rule() {
    return new UnresolvedAnswer.Ask();
  }

  @Override
  public LogicalPlan apply(Seq<Expression> arguments) {
    Arguments given = new Arguments(name, CollectionConverters.asJava(arguments));
    return new UnresolvedAnswer(name, () -> answer(given));
  }

  private static Relation columns(SparkSession session, String name, Object none)
      throws UsageTrackingException, IOException {
    Snapshot snapshot = NamedTable.byName(session, name).snapshot();
    TableLog log = StagedCommits.log(session, snapshot).metadata();
    return MetadataRules.relation("column_mapping", new Question.TableAndLog(snapshot, log));
  }

  private static Relation exits(SparkSession session, String name, Object exact)
      throws UsageTrackingException {
    NamedTable table = NamedTable.byName(session, name);
    Snapshot snapshot = table.snapshot();
    return MetadataRules.relation(
        "column_mapping_exit",
        new Question.TableFacts(
            table.sqlName(),
            snapshot,
            LiveFiles.count(snapshot),
            LeavingSetting.of(session).value(),
            (boolean) exact ? LeavingCommand.count(session, snapshot) : null));
  }

  /** For {@code spark_ext.UsageTracking}, which sees there whether the jar is of its version. */
  private static Relation named(SparkSession session, String given, Object isPath)
      throws UsageTrackingException {
    NamedTable table =
        (boolean) isPath
            ? NamedTable.byPath(session, given)
            : NamedTable.byName(session, given).requireUnambiguous(given);
    Snapshot snapshot = table.snapshot();
    boolean tracked = UsageTrackingFeature.isSupportedBy(snapshot.protocol());
    String flag =
        CollectionConverters.asJava(snapshot.metadata().configuration())
            .get(UsageTrackingFeature.FLAG);
    return new Relation(
        NAMED,
        List.of(
            RowFactory.create(
                table.name(),
                table.sqlName(),
                tracked,
                flag,
                Versions.ours(),
                snapshot.version())));
  }

  private Relation answer(Arguments arguments)
      throws UsageTrackingException, IOException, AnalysisException {
    arguments.requireCount(1, option == null ? 1 : 2);
    String table = arguments.value(0, "table", DataTypes.StringType).toString();
    if (arguments.count() == 1) {
      return rows.of(SparkSession.active(), table, option == null ? null : option.byDefault());
    }
    return rows.of(SparkSession.active(), table, arguments.value(1, option.name(), option.type()));
  }
}
