// SPDX-License-Identifier: Apache-2.0
package sparkext.sql;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.Dataset$;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.StructType;
import sparkext.common.UsageTrackingException;
import sparkext.files.CopySetting;
import sparkext.files.LiveTable;
import sparkext.sql.InParallel.TableFailure;
import sparkext.wire.FunctionColumns;
import sparkext.wire.MetadataRules;
import sparkext.wire.Question;
import sparkext.wire.Question.AskedTable;

/**
 * Reads many tables for the costs of removing column mapping. {@code spark_ext/removal/stages.py}
 * makes the rows.
 */
final class Survey {
  static final String NAME = "column_mapping_survey";
  private static final StructType LISTED =
      StructType.fromDDL("`table` STRING, `kind` STRING, `error` STRING, `message` STRING");

  /** Limits the schemas in memory, and the text of a question. */
  private static final int MAX_TABLES = 128;

  private static final int MAX_TEXT = 4_000_000;

  private static final Pattern IN_BACKTICKS = Pattern.compile("`(?:[^`]|``)*`");

  private final SparkSession session;
  private final CopySetting removal;

  /**
   * A table that was read.
   *
   * @param relation null if the table cannot be read
   */
  private record Surveyed(AskedTable table, LogicalPlan relation) {}

  /** A table to read, or the reason why it cannot be read. */
  private record Wanted(String name, Supplier<NamedTable> table, TableFailure failure) {}

  private Survey(SparkSession session) {
    this.session = session;
    this.removal = CopySetting.ofRemoval(session);
  }

  /** Lists the contents of a catalog or schema; of the current schema without an argument. */
  static FoundTables listed(SparkSession session, Arguments arguments) {
    List<Row> rows = new ArrayList<>();
    ListedTables.Listing listing = ListedTables.in(session, where(arguments));
    for (ListedTables.Listed table : listing.tables()) {
      TableFailure failure = table.failure();
      rows.add(
          RowFactory.create(
              table.name(),
              table.kind() == null ? null : table.kind().name(),
              failure == null ? null : failure.condition(),
              failure == null ? null : failure.message()));
    }
    return new FoundTables(LISTED, List.of(listing.namespace()), () -> rows);
  }

  /**
   * Surveys tables by name or by path, or the Delta tables that a catalog lists as {@link #listed}.
   * A text with a slash outside of backticks is a path.
   */
  static FoundTables of(SparkSession session, Arguments arguments) throws UsageTrackingException {
    if (arguments.count() > 0 && arguments.given().get(0).dataType() instanceof ArrayType) {
      return new Survey(session)
          .tables(arguments.texts("tables").map(table -> wanted(session, table)).toList());
    }
    ListedTables.Listing listing = ListedTables.in(session, where(arguments));
    List<Wanted> wanted =
        listing.tables().stream()
            .filter(table -> table.failure() != null || table.kind() == ListedTables.Kind.DELTA)
            .map(
                table ->
                    new Wanted(
                        table.name(),
                        () -> NamedTable.byParts(session, table.parts()),
                        table.failure()))
            .toList();
    return new Survey(session).tables(wanted, listing.namespace());
  }

  private static String where(Arguments arguments) {
    arguments.requireCount(0, 1);
    return arguments.count() == 0 ? null : arguments.text(0, "schema");
  }

  private static Wanted wanted(SparkSession session, String given) {
    if (IN_BACKTICKS.matcher(given).replaceAll("").contains("/")) {
      return new Wanted(given, () -> NamedTable.byPath(session, given), null);
    }
    try {
      // Other threads do not know the view that this thread resolves.
      List<String> parts = NameParts.inView(session, NameParts.of(given));
      return new Wanted(given, () -> NamedTable.byParts(session, parts), null);
    } catch (Exception noName) { // Scala declares no checked exceptions
      return new Wanted(given, null, TableFailure.of(noName));
    }
  }

  /**
   * Reads the tables. The answer contains the reason for each table that cannot be read.
   *
   * @param relations other relations of the answer
   */
  private FoundTables tables(List<Wanted> wanted, LogicalPlan... relations)
      throws UsageTrackingException {
    List<LogicalPlan> all = new ArrayList<>(List.of(relations));
    List<Row> rows = new ArrayList<>();
    int from = 0;
    do {
      int to = Math.min(wanted.size(), from + MAX_TABLES);
      List<Surveyed> surveyed =
          InParallel.map(session, wanted.subList(from, to), this::read, Survey::unreadable);
      surveyed.stream().map(Surveyed::relation).filter(Objects::nonNull).forEach(all::add);
      for (List<AskedTable> question : questions(surveyed)) {
        rows.addAll(MetadataRules.rows(NAME, new Question.Survey(question)));
      }
      from = to;
    } while (from < wanted.size());
    return new FoundTables(FunctionColumns.of(NAME), all, () -> rows);
  }

  private Surveyed read(Wanted wanted) {
    if (wanted.failure != null) {
      return unreadable(wanted, wanted.failure);
    }
    NamedTable table = wanted.table.get();
    SurveyedLogs.add(session, table.path());
    requireReadable(table);
    String name = table.readableName();
    Snapshot snapshot = table.snapshot();
    Question facts =
        new Question.TableFacts(
            name,
            snapshot,
            LiveTable.count(snapshot),
            removal.value().orElse(null),
            removal.copies(snapshot.protocol()),
            /* exact= */ null);
    String folder = snapshot.deltaLog().dataPath().toString();
    return new Surveyed(
        new AskedTable(name, facts.json(), snapshot.version(), folder, null, null), table.folder());
  }

  /** Throws if the session refuses a query of this table. It would refuse the whole survey. */
  private void requireReadable(NamedTable table) {
    LogicalPlan query =
        TableFunctionCall.of(
                NAME, () -> new FoundTables(new StructType(), table.relations(), List::of))
            .found();
    Dataset$.MODULE$.ofRows(session, query).queryExecution().optimizedPlan();
  }

  private static Surveyed unreadable(Wanted wanted, TableFailure failure) {
    return new Surveyed(
        new AskedTable(wanted.name, null, null, null, failure.condition(), failure.message()),
        null);
  }

  private static List<List<AskedTable>> questions(List<Surveyed> tables) {
    List<List<AskedTable>> questions = new ArrayList<>(List.of(new ArrayList<>()));
    int text = 0;
    for (Surveyed surveyed : tables) {
      AskedTable table = surveyed.table();
      int more = table.facts() == null ? 0 : table.facts().length();
      if (text > 0 && text + more > MAX_TEXT) {
        questions.add(new ArrayList<>());
        text = 0;
      }
      questions.get(questions.size() - 1).add(table);
      text += more;
    }
    return questions;
  }

  /**
   * Limits the logs that surveys keep in Delta's cache.
   *
   * <p>Delta caches 10,000 logs for an hour. The log of a small table takes 0.1 MB, so without a
   * limit a survey of a large lakehouse fills the driver's memory. A removed log is read again when
   * needed, and code that uses the log keeps a reference.
   *
   * <p>Source: Delta, DeltaLog.scala, {@code createCacheBuilder}, {@code invalidateCache}.
   */
  static final class SurveyedLogs {
    private static final int MAX = 128;

    /** The tables whose logs surveys read last, the newest last. */
    private static final Set<Path> NEWEST = new LinkedHashSet<>();

    private SurveyedLogs() {}

    /**
     * Adds the log of a table that a survey has read, and removes the oldest from Delta's cache.
     */
    static void add(SparkSession session, Path table) {
      for (Path oldest : oldestAfter(table)) {
        DeltaLog.invalidateCache(session, oldest);
      }
    }

    private static List<Path> oldestAfter(Path table) {
      synchronized (NEWEST) {
        NEWEST.remove(table);
        NEWEST.add(table);
        List<Path> oldest = NEWEST.stream().limit(Math.max(0, NEWEST.size() - MAX)).toList();
        oldest.forEach(NEWEST::remove);
        return oldest;
      }
    }
  }
}
