// SPDX-License-Identifier: Apache-2.0
package sparkext.sql;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.types.StructType;
import sparkext.error.UsageTrackingException;
import sparkext.files.LiveFiles;
import sparkext.leave.LeavingSetting;
import sparkext.wire.MetadataRules;
import sparkext.wire.Question;
import sparkext.wire.Question.AskedTable;
import sparkext.wire.Relation;

/**
 * What leaving column mapping costs for many tables.
 *
 * <p>The rows are made in {@code spark_ext/leave/survey.py}; which tables there are, and what their
 * logs say, here.
 */
final class Survey {
  private static final StructType LISTED =
      StructType.fromDDL("`table` STRING, kind STRING, error STRING, message STRING");

  /** How many tables' schemas are held at once, and how much text a question may have. */
  private static final int MAX_TABLES = 128;

  private static final int MAX_TEXT = 4_000_000;

  private static final Pattern IN_BACKTICKS = Pattern.compile("`(?:[^`]|``)*`");

  private final SparkSession session;
  private final String removal;

  /** A table to look at, or why it cannot be. */
  private record Wanted(String name, Supplier<NamedTable> table, TableFailure failure) {}

  private Survey(SparkSession session) {
    this.session = session;
    this.removal = LeavingSetting.of(session).value();
  }

  /**
   * What a catalog lists.
   *
   * @param where as {@link ListedTables#in}
   */
  static Relation listed(SparkSession session, String where) {
    List<Row> rows = new ArrayList<>();
    for (ListedTables.Listed table : ListedTables.in(session, where)) {
      TableFailure failure = table.failure();
      rows.add(
          RowFactory.create(
              table.name(),
              table.kind() == null ? null : table.kind().name(),
              failure == null ? null : failure.condition(),
              failure == null ? null : failure.message()));
    }
    return new Relation(LISTED, rows);
  }

  /**
   * The Delta tables among what a catalog lists.
   *
   * @param where as {@link ListedTables#in}
   */
  static Relation of(SparkSession session, String where) throws UsageTrackingException {
    List<Wanted> wanted =
        ListedTables.in(session, where).stream()
            .filter(table -> table.kind() == null || table.kind() == ListedTables.Kind.DELTA)
            .map(
                table ->
                    new Wanted(
                        table.name(),
                        () -> NamedTable.byParts(session, table.parts()),
                        table.failure()))
            .toList();
    return new Survey(session).rows(wanted);
  }

  /**
   * Tables by name or by path.
   *
   * @param tables a text with a slash outside of backticks is a path
   */
  static Relation of(SparkSession session, List<String> tables) throws UsageTrackingException {
    return new Survey(session).rows(tables.stream().map(table -> wanted(session, table)).toList());
  }

  private static Wanted wanted(SparkSession session, String given) {
    if (IN_BACKTICKS.matcher(given).replaceAll("").contains("/")) {
      return new Wanted(given, () -> NamedTable.byPath(session, given), null);
    }
    try {
      // Here: another thread does not know the view that this one is in.
      List<String> parts = NameParts.inView(session, NameParts.of(given));
      return new Wanted(given, () -> NamedTable.byParts(session, parts), null);
    } catch (Exception noName) { // Scala declares no checked exception
      return new Wanted(given, null, TableFailure.of(noName));
    }
  }

  private Relation rows(List<Wanted> wanted) throws UsageTrackingException {
    List<Row> rows = new ArrayList<>();
    StructType schema = null;
    int from = 0;
    do {
      int to = Math.min(wanted.size(), from + MAX_TABLES);
      for (List<AskedTable> question : questions(looked(wanted.subList(from, to)))) {
        Relation answer =
            MetadataRules.relation("column_mapping_survey", new Question.Survey(question));
        schema = answer.schema();
        rows.addAll(answer.rows());
      }
      from = to;
    } while (from < wanted.size());
    return new Relation(schema, rows);
  }

  private List<AskedTable> looked(List<Wanted> wanted) {
    return InParallel.map(session, wanted, this::facts, Survey::unreadable);
  }

  private AskedTable facts(Wanted wanted) {
    if (wanted.failure != null) {
      return unreadable(wanted, wanted.failure);
    }
    NamedTable table = wanted.table.get();
    String name = table.readableName();
    Snapshot snapshot = table.snapshot();
    Question facts =
        new Question.TableFacts(
            name, snapshot, LiveFiles.count(snapshot), removal, /* exact= */ null);
    return new AskedTable(name, facts.json(), null, null);
  }

  private static AskedTable unreadable(Wanted wanted, TableFailure failure) {
    return new AskedTable(wanted.name, null, failure.condition(), failure.message());
  }

  /** One at least: of no table, too, the answer tells the columns. */
  private static List<List<AskedTable>> questions(List<AskedTable> tables) {
    List<List<AskedTable>> questions = new ArrayList<>(List.of(new ArrayList<>()));
    int text = 0;
    for (AskedTable table : tables) {
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
}
