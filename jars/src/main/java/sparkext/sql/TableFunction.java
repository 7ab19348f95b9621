// SPDX-License-Identifier: Apache-2.0
package sparkext.sql;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.sql.Timestamp;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.spark.sql.AnalysisException;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.ExpressionInfo;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.delta.DeltaConfigs;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.actions.Action;
import org.apache.spark.sql.delta.actions.CommitInfo;
import org.apache.spark.sql.delta.actions.Metadata;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import scala.Tuple3;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction1;
import sparkext.common.UsageTrackingException;
import sparkext.delta.CommitActions;
import sparkext.delta.DeltaShims;
import sparkext.delta.DeltaShims.CommitFile;
import sparkext.delta.UsageTrackingFeature;
import sparkext.files.CopyPlaces.HiddenFolders;
import sparkext.files.CopySetting;
import sparkext.files.LiveTable;
import sparkext.log.TableFolder;
import sparkext.log.TableLog;
import sparkext.log.UnnamedCopies;
import sparkext.release.Versions;
import sparkext.removal.RemovalCommand;
import sparkext.sql.TableAudit.StagedCommits;
import sparkext.wire.FunctionColumns;
import sparkext.wire.MetadataRules;
import sparkext.wire.Question;

/**
 * A table function, such as {@code SELECT * FROM column_mapping('db.t')}.
 *
 * <p>Its tables are found while the query is analyzed, and read after the session has allowed the
 * query. {@code spark_ext/process/table_functions.py} makes the rows.
 */
public final class TableFunction extends AbstractFunction1<Seq<Expression>, LogicalPlan> {
  /** The columns of a function that this class answers. A session may reserve bare names. */
  private static final StructType NAMED_TABLE =
      StructType.fromDDL(
          "`name` STRING, `sqlName` STRING, `tracked` BOOLEAN, `hasDroppedOrRenamed` STRING,"
              + " `jarVersion` STRING, `version` BIGINT");

  private static final StructType COPIES =
      StructType.fromDDL("`numFiles` BIGINT, `sizeInBytes` BIGINT, `removableFrom` TIMESTAMP");

  private static final List<TableFunction> ALL =
      List.of(
          of("column_mapping", null, TableFunction::columns),
          of("column_mapping_removal", option("exact"), TableFunction::stages),
          of("column_mapping_history", null, TableFunction::log),
          of("column_mapping_status", null, TableFunction::log),
          ofTable("column_mapping_copies", null, TableFunction::copies),
          ofTable(
              "column_mapping_commits",
              new Option("version", DataTypes.LongType, -1L),
              TableFunction::commits),
          of("column_mapping_dropped", null, TableFunction::folder),
          of(
              "column_mapping_verdict",
              new Option("asked", DataTypes.StringType, null),
              TableFunction::folder),
          ofTable(
              TableAudit.NAME,
              new Option("sample", DataTypes.IntegerType, null),
              (session, table, sample) -> TableAudit.of(session, table, (Integer) sample)),
          ofTable("column_mapping_named_table", option("isPath"), TableFunction::named),
          new TableFunction(Survey.NAME, Survey::of),
          new TableFunction("column_mapping_tables", Survey::listed));

  private final String name;
  private final Finder finder;

  /** A second argument. */
  private record Option(String name, DataType type, Object byDefault) {}

  /** Finds the tables of a call. */
  private interface Finder {
    FoundTables of(SparkSession session, Arguments arguments)
        throws UsageTrackingException, IOException, AnalysisException;
  }

  /** Finds the table of a function. */
  private interface TableFinder {
    FoundTables of(SparkSession session, String table, Object option)
        throws UsageTrackingException, IOException, AnalysisException;
  }

  /** Reads the facts of a table for the rule process. */
  private interface Reading {
    Question of(SparkSession session, NamedTable table, Object option)
        throws UsageTrackingException, IOException;
  }

  private TableFunction(String name, Finder finder) {
    this.name = name;
    this.finder = finder;
  }

  /**
   * Returns a function of one table.
   *
   * @param option null if there is no second argument
   */
  private static TableFunction ofTable(String name, Option option, TableFinder finder) {
    return new TableFunction(
        name,
        (session, given) -> {
          given.requireCount(1, option == null ? 1 : 2);
          String table = given.text(0, "table");
          if (given.count() == 1) {
            return finder.of(session, table, option == null ? null : option.byDefault());
          }
          return finder.of(session, table, given.value(1, option.name(), option.type()));
        });
  }

  private static Option option(String name) {
    return new Option(name, DataTypes.BooleanType, false);
  }

  private static TableFunction of(String function, Option option, Reading reading) {
    return ofTable(
        function,
        option,
        (session, name, value) -> {
          NamedTable table = NamedTable.byName(session, name);
          return new FoundTables(
              FunctionColumns.of(function),
              table.relations(),
              () -> MetadataRules.rows(function, reading.of(session, table, value)));
        });
  }

  /** Adds every table function to a session, and the rules that find the tables and read them. */
  public static void inject(SparkSessionExtensions extensions) {
    for (TableFunction function : ALL) {
      extensions.injectTableFunction(
          new Tuple3<>(
              new FunctionIdentifier(function.name),
              new ExpressionInfo(TableFunction.class.getName(), function.name),
              function));
    }
    TableFunctionCall.inject(extensions);
  }

  /** Returns the rule for a running session. */
  public static Rule<LogicalPlan> rule() {
    return new TableFunctionCall.FindTables();
  }

  @Override
  public LogicalPlan apply(Seq<Expression> arguments) {
    Arguments given = new Arguments(name, CollectionConverters.asJava(arguments));
    return TableFunctionCall.of(name, () -> finder.of(SparkSession.active(), given));
  }

  private static Question log(SparkSession session, NamedTable table, Object none)
      throws IOException {
    TableLog log = StagedCommits.reading(session, table.snapshot()).metadata();
    return new Question.TableQuestion(table.name(), log);
  }

  private static Question columns(SparkSession session, NamedTable table, Object none)
      throws IOException {
    Snapshot snapshot = table.snapshot();
    TableLog log = StagedCommits.reading(session, snapshot).metadata();
    return new Question.TableQuestion(table.name(), snapshot, log);
  }

  private static Question folder(SparkSession session, NamedTable table, Object given)
      throws IOException {
    JsonNode asked = Question.argument(given);
    Snapshot snapshot = table.snapshot();
    Metadata metadata = snapshot.metadata();
    TableFolder folder =
        StagedCommits.reading(session, snapshot)
            .folder(
                new HiddenFolders(metadata),
                log ->
                    MetadataRules.erasureStart(
                        new Question.ErasureStart(table.name(), log, asked)));
    return new Question.TableQuestion(
        table.sqlName(),
        folder.log(),
        new Question.Folder(
            snapshot.deltaLog().dataPath().toString(),
            asked,
            System.currentTimeMillis(),
            DeltaConfigs.getMilliSeconds(DeltaConfigs.TOMBSTONE_RETENTION().fromMetaData(metadata)),
            DeltaConfigs.getMilliSeconds(DeltaConfigs.LOG_RETENTION().fromMetaData(metadata)),
            (boolean) DeltaConfigs.ENABLE_EXPIRED_LOG_CLEANUP().fromMetaData(metadata),
            folder.moment(),
            folder.otherTables(),
            folder.logFiles(),
            folder.olderLogFiles(),
            folder.unknownLogFiles(),
            folder.tombstones(),
            folder.olderTombstones(),
            folder.cleanableFrom()));
  }

  private static Question stages(SparkSession session, NamedTable table, Object exact)
      throws UsageTrackingException {
    Snapshot snapshot = table.snapshot();
    CopySetting removal = CopySetting.ofRemoval(session);
    return new Question.TableFacts(
        table.sqlName(),
        snapshot,
        LiveTable.count(snapshot),
        removal.value().orElse(null),
        removal.copies(snapshot.protocol()),
        (boolean) exact ? RemovalCommand.count(session, snapshot) : null);
  }

  /** Answers {@code spark_ext.UsageTracking}, which compares the version of the jar. */
  private static FoundTables named(SparkSession session, String given, Object isPath) {
    NamedTable table =
        (boolean) isPath
            ? NamedTable.byPath(session, given)
            : NamedTable.byName(session, given).requireUnambiguous(given);
    return new FoundTables(NAMED_TABLE, table.relations(), () -> named(table));
  }

  /** Answers {@code spark_ext/tables/sql.py}, which looks for copies of a killed driver. */
  private static FoundTables copies(SparkSession session, String name, Object none) {
    NamedTable table = NamedTable.byName(session, name);
    return new FoundTables(COPIES, table.relations(), () -> copies(session, table));
  }

  /** Answers {@code spark_ext/tables/sql.py}, which looks for the commits of a statement. */
  private static FoundTables commits(SparkSession session, String name, Object version) {
    NamedTable table = NamedTable.byName(session, name);
    return new FoundTables(
        NewerCommits.SCHEMA, table.relations(), () -> NewerCommits.of(table, (long) version));
  }

  private static List<Row> copies(SparkSession session, NamedTable table) throws IOException {
    DeltaLog log = table.snapshot().deltaLog();
    UnnamedCopies copies =
        UnnamedCopies.of(
            log.dataPath(),
            log.newDeltaHadoopConf(),
            () ->
                StagedCommits.reading(
                    session, NamedTable.byName(session, table.name()).snapshot()));
    long retention =
        DeltaConfigs.getMilliSeconds(
            DeltaConfigs.TOMBSTONE_RETENTION().fromMetaData(table.snapshot().metadata()));
    // VACUUM deletes files that are older than the retention.
    Timestamp removableFrom =
        copies.newest() == null ? null : new Timestamp(copies.newest() + retention + 1);
    return List.of(RowFactory.create(copies.numFiles(), copies.sizeInBytes(), removableFrom));
  }

  private static List<Row> named(NamedTable table) {
    Snapshot snapshot = table.snapshot();
    boolean tracked = UsageTrackingFeature.isSupportedBy(snapshot.protocol());
    String flag =
        CollectionConverters.asJava(snapshot.metadata().configuration())
            .get(UsageTrackingFeature.FLAG);
    return List.of(
        RowFactory.create(
            table.name(), table.sqlName(), tracked, flag, Versions.ours(), snapshot.version()));
  }

  /**
   * The commits of a table after a version. Delta's {@code DESCRIBE HISTORY} takes no name in a
   * nested schema, and runs a Spark job, which many tables at a time cannot afford.
   *
   * <p>Source: Delta 4.4.0, DeltaHistoryManager.scala, {@code getHistory}.
   */
  static final class NewerCommits {
    static final StructType SCHEMA =
        StructType.fromDDL(
            "`version` BIGINT, `timestamp` TIMESTAMP, `operation` STRING,"
                + " `operationMetrics` MAP<STRING, STRING>");

    private NewerCommits() {}

    /** Returns a row for each commit, the newest first; without an operation if none is known. */
    static List<Row> of(NamedTable table, long version) {
      Snapshot snapshot = table.snapshot();
      Configuration configuration = snapshot.deltaLog().newDeltaHadoopConf();
      List<Row> rows = new ArrayList<>();
      for (CommitFile commit :
          DeltaShims.commits(
              snapshot.deltaLog(),
              version + 1,
              table.catalogTable(),
              /* failOnDataLoss= */ false)) {
        if (commit.version() <= snapshot.version()) {
          rows.add(row(commit.version(), commit.file(), configuration));
        }
      }
      Collections.reverse(rows);
      return rows;
    }

    private static Row row(long version, FileStatus commit, Configuration configuration) {
      long time = commit.getModificationTime();
      for (Action action :
          CommitActions.of(commit.getPath(), configuration, line -> line.contains("commitInfo"))
              .actions()) {
        if (action instanceof CommitInfo info) {
          return RowFactory.create(
              version,
              new Timestamp(
                  info.inCommitTimestamp().map(each -> (long) each).getOrElse(() -> time)),
              info.operation(),
              info.operationMetrics().getOrElse(() -> null));
        }
      }
      return RowFactory.create(version, new Timestamp(time), null, null);
    }
  }
}
