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
import scala.Tuple3;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction1;
import sparkext.error.UsageTrackingException;
import sparkext.feature.UsageTrackingFeature;
import sparkext.files.LiveFiles;
import sparkext.log.TableLog;
import sparkext.release.Versions;
import sparkext.removal.RemovalCommand;
import sparkext.removal.RemovalSetting;
import sparkext.wire.FunctionColumns;
import sparkext.wire.MetadataRules;
import sparkext.wire.Question;
import sparkext.wire.Relation;

/**
 * A table function whose first argument is the name of a table: {@code SELECT * FROM
 * column_mapping('db.t')}.
 *
 * <p>The table is found while the query is analyzed, and read once the session allows the query.
 * What is said about column mapping is decided in {@code spark_ext/process/table_functions.py};
 * which table a name leads to, here.
 */
public final class TableFunction extends AbstractFunction1<Seq<Expression>, LogicalPlan> {
  private static final String NAMED = "column_mapping_named_table";

  private static final List<TableFunction> ALL =
      List.of(
          new TableFunction("column_mapping", null, of(TableFunction::columns)),
          new TableFunction("column_mapping_removal", option("exact"), of(TableFunction::stages)),
          new TableFunction(NAMED, option("isPath"), TableFunction::named),
          logged("column_mapping_history"),
          logged("column_mapping_status"),
          new TableFunction("column_mapping_dropped", null, of(DroppedColumns::of)),
          new TableFunction(
              "column_mapping_audit",
              new Option("sample", DataTypes.IntegerType, null),
              (session, table, sample) -> TableAudit.of(session, table, (Integer) sample)));

  private final String name;
  private final Option option;
  private final Finding finding;

  /** A second argument. */
  private record Option(String name, DataType type, Object byDefault) {}

  /** Finds the table of a function. */
  private interface Finding {
    Asked of(SparkSession session, String table, Object option)
        throws UsageTrackingException, IOException, AnalysisException;
  }

  /** Reads a table. */
  private interface Reading {
    Relation of(SparkSession session, NamedTable table, Object option)
        throws UsageTrackingException, IOException;
  }

  /**
   * @param option null where there is no second argument
   */
  private TableFunction(String name, Option option, Finding finding) {
    this.name = name;
    this.option = option;
    this.finding = finding;
  }

  private static Option option(String name) {
    return new Option(name, DataTypes.BooleanType, false);
  }

  private static Finding of(Reading reading) {
    return (session, name, option) -> {
      NamedTable table = NamedTable.byName(session, name);
      return new Asked(table.relations(), () -> reading.of(session, table, option));
    };
  }

  /** A function of what changed a table's metadata. */
  private static TableFunction logged(String function) {
    return new TableFunction(
        function,
        null,
        of(
            (session, table, none) -> {
              TableLog log = StagedCommits.reading(session, table.snapshot()).metadata();
              return MetadataRules.relation(function, new Question.NamedLog(table.name(), log));
            }));
  }

  /** Adds every table function to a session, and what finds their tables and answers them. */
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
    TableAnswer.inject(extensions);
  }

  /** The rule of a session that runs already. */
  public static Rule<LogicalPlan> rule() {
    return new UnresolvedAnswer.Ask();
  }

  @Override
  public LogicalPlan apply(Seq<Expression> arguments) {
    Arguments given = new Arguments(name, CollectionConverters.asJava(arguments));
    return new UnresolvedAnswer(name, () -> asked(given));
  }

  private static Relation columns(SparkSession session, NamedTable table, Object none)
      throws UsageTrackingException, IOException {
    Snapshot snapshot = table.snapshot();
    TableLog log = StagedCommits.reading(session, snapshot).metadata();
    return MetadataRules.relation("column_mapping", new Question.TableAndLog(snapshot, log));
  }

  private static Relation stages(SparkSession session, NamedTable table, Object exact)
      throws UsageTrackingException {
    Snapshot snapshot = table.snapshot();
    return MetadataRules.relation(
        "column_mapping_removal",
        new Question.TableFacts(
            table.sqlName(),
            snapshot,
            LiveFiles.count(snapshot),
            RemovalSetting.of(session).value(),
            (boolean) exact ? RemovalCommand.count(session, snapshot) : null));
  }

  /** For {@code spark_ext.UsageTracking}, which sees there whether the jar is of its version. */
  private static Asked named(SparkSession session, String given, Object isPath) {
    NamedTable table =
        (boolean) isPath
            ? NamedTable.byPath(session, given)
            : NamedTable.byName(session, given).requireUnambiguous(given);
    return new Asked(table.relations(), () -> named(table));
  }

  private static Relation named(NamedTable table) {
    Snapshot snapshot = table.snapshot();
    boolean tracked = UsageTrackingFeature.isSupportedBy(snapshot.protocol());
    String flag =
        CollectionConverters.asJava(snapshot.metadata().configuration())
            .get(UsageTrackingFeature.FLAG);
    return new Relation(
        FunctionColumns.of(NAMED),
        List.of(
            RowFactory.create(
                table.name(),
                table.sqlName(),
                tracked,
                flag,
                Versions.ours(),
                snapshot.version())));
  }

  private Asked asked(Arguments arguments)
      throws UsageTrackingException, IOException, AnalysisException {
    arguments.requireCount(1, option == null ? 1 : 2);
    String table = arguments.value(0, "table", DataTypes.StringType).toString();
    if (arguments.count() == 1) {
      return finding.of(SparkSession.active(), table, option == null ? null : option.byDefault());
    }
    return finding.of(
        SparkSession.active(), table, arguments.value(1, option.name(), option.type()));
  }
}
