// SPDX-License-Identifier: Apache-2.0
package sparkext.sql;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.Dataset$;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.types.StructType;
import sparkext.error.Setting;
import sparkext.error.UsageTrackingException;
import sparkext.files.CopySetting;
import sparkext.files.LiveFiles;
import sparkext.wire.FunctionColumns;
import sparkext.wire.MetadataRules;
import sparkext.wire.Question;
import sparkext.wire.Question.AskedTable;
import sparkext.wire.Relation;

/**
 * What removing column mapping costs for many tables.
 *
 * <p>The rows are made in {@code spark_ext/removal/survey.py}; which tables there are, and what
 * their logs say, here.
 */
final class Survey {
  private static final String SURVEY = "column_mapping_survey";

  /** How many tables' schemas are held at once, and how much text a question may have. */
  private static final int MAX_TABLES = 128;

  private static final int MAX_TEXT = 4_000_000;

  private static final Pattern IN_BACKTICKS = Pattern.compile("`(?:[^`]|``)*`");

  private final SparkSession session;
  private final CopySetting removal;

  /**
   * A table that was looked at.
   *
   * @param relation null where it cannot be read
   */
  private record FileDecision(AskedTable table, LogicalPlan relation) {}

  /** A table to look at, or why it cannot be. */
  private record Wanted(String name, Supplier<NamedTable> table, TableFailure failure) {}

  private Survey(SparkSession session) {
    this.session = session;
    this.removal = CopySetting.of(session, Setting.REMOVAL);
  }

  /**
   * What a catalog lists.
   *
   * @param where as {@link ListedTables#in}
   */
  static Asked listed(SparkSession session, String where) {
    List<Row> rows = new ArrayList<>();
    ListedTables.Listing listing = ListedTables.in(session, where);
    for (ListedTables.Listed table : listing.tables()) {
      TableFailure failure = table.failure();
      rows.add(
          RowFactory.create(
              table.name(),
              table.kind() == null ? null : table.kind().name(),
              failure == null ? null : failure.condition(),
              failure == null ? null : failure.message()));
    }
    Relation listed = new Relation(FunctionColumns.of("column_mapping_tables"), rows);
    return new Asked(List.of(listing.namespace()), () -> listed);
  }

  /**
   * The Delta tables among what a catalog lists.
   *
   * @param where as {@link ListedTables#in}
   */
  static Asked of(SparkSession session, String where) throws UsageTrackingException {
    ListedTables.Listing listing = ListedTables.in(session, where);
    List<Wanted> wanted =
        listing.tables().stream()
            .filter(table -> table.kind() == null || table.kind() == ListedTables.Kind.DELTA)
            .map(
                table ->
                    new Wanted(
                        table.name(),
                        () -> NamedTable.byParts(session, table.parts()),
                        table.failure()))
            .toList();
    return new Survey(session).asked(wanted, listing.namespace());
  }

  /**
   * Tables by name or by path.
   *
   * @param tables a text with a slash outside of backticks is a path
   */
  static Asked of(SparkSession session, List<String> tables) throws UsageTrackingException {
    return new Survey(session).asked(tables.stream().map(table -> wanted(session, table)).toList());
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

  /**
   * Reads the tables that may be read now: of those that may not, the answer tells why.
   *
   * @param relations what the answer is about besides
   */
  private Asked asked(List<Wanted> wanted, LogicalPlan... relations) throws UsageTrackingException {
    List<LogicalPlan> all = new ArrayList<>(List.of(relations));
    List<Row> rows = new ArrayList<>();
    int from = 0;
    do {
      int to = Math.min(wanted.size(), from + MAX_TABLES);
      List<FileDecision> looked =
          InParallel.map(session, wanted.subList(from, to), this::looked, Survey::unreadable);
      looked.stream().map(FileDecision::relation).filter(Objects::nonNull).forEach(all::add);
      for (List<AskedTable> question : questions(looked)) {
        rows.addAll(MetadataRules.relation(SURVEY, new Question.Survey(question)).rows());
      }
      from = to;
    } while (from < wanted.size());
    Relation answer = new Relation(FunctionColumns.of(SURVEY), rows);
    return new Asked(all, () -> answer);
  }

  private FileDecision looked(Wanted wanted) {
    if (wanted.failure != null) {
      return unreadable(wanted, wanted.failure);
    }
    NamedTable table = wanted.table.get();
    requireReadable(table);
    String name = table.readableName();
    Snapshot snapshot = table.snapshot();
    Question facts =
        new Question.TableFacts(
            name,
            snapshot,
            LiveFiles.count(snapshot),
            removal.value().orElse(null),
            removal.copies(snapshot.protocol()),
            /* exact= */ null);
    return new FileDecision(new AskedTable(name, facts.json(), null, null), table.folder());
  }

  /** Throws what refuses a query of the table alone, which would refuse the survey as a whole. */
  private void requireReadable(NamedTable table) {
    Relation nothing = new Relation(new StructType(), List.of());
    LogicalPlan query =
        TableAnswer.of(SURVEY, nothing.schema(), new Asked(table.relations(), () -> nothing));
    Dataset$.MODULE$.ofRows(session, query).queryExecution().optimizedPlan();
  }

  private static FileDecision unreadable(Wanted wanted, TableFailure failure) {
    return new FileDecision(
        new AskedTable(wanted.name, null, failure.condition(), failure.message()), null);
  }

  private static List<List<AskedTable>> questions(List<FileDecision> tables) {
    List<List<AskedTable>> questions = new ArrayList<>(List.of(new ArrayList<>()));
    int text = 0;
    for (FileDecision looked : tables) {
      AskedTable table = looked.table();
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
