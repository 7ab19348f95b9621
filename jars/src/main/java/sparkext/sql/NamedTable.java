// SPDX-License-Identifier: Apache-2.0
package sparkext.sql;

import static sparkext.sql.NameParts.DELTA;
import static sparkext.sql.NameParts.SESSION_CATALOG;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.analysis.ResolvedTable;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.util.QuotingUtils;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.delta.DeltaTableUtils;
import org.apache.spark.sql.delta.Snapshot;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;
import sparkext.common.UsageTrackingErrors;
import sparkext.common.UsageTrackingException;

/**
 * A Delta table, and its full name, which does not depend on the current catalog and schema.
 *
 * <p>Spark's analyzer finds the table as for {@code ALTER TABLE}, so a function and a statement
 * with the same name concern the same table.
 */
final class NamedTable {
  /** Spark replaces an unset variable by nothing, and substitutes no variable in the result. */
  private static final String UNSET = "sparkext.unset";

  private static final String VARIABLE = "${";
  private static final String NO_VARIABLE = "$${" + UNSET + "}{";

  private final SparkSession session;
  private final List<String> parts;
  private final LoadedTable table;

  /** The table of the name; two tables if the name is ambiguous. */
  private final List<LoadedTable> all = new ArrayList<>();

  /**
   * This is thrown late, because its text contains paths of tables. Null if the name is not
   * ambiguous.
   */
  private UsageTrackingException ambiguity;

  private NamedTable(SparkSession session, List<String> parts, LoadedTable table) {
    this.session = session;
    this.parts = parts;
    this.table = table;
    this.all.add(table);
  }

  /**
   * Finds the table of a name in SQL. Variables in the name are not substituted.
   *
   * @throws UsageTrackingException USAGE_TRACKING_INVALID_TABLE_NAME; DELTA_MISSING_DELTA_TABLE;
   *     USAGE_TRACKING_KERNEL_TABLE
   */
  static NamedTable byName(SparkSession session, String name) {
    return byParts(session, NameParts.inView(session, NameParts.of(name)));
  }

  /**
   * Finds the table of a name's parts, outside of views.
   *
   * @throws UsageTrackingException DELTA_MISSING_DELTA_TABLE; USAGE_TRACKING_KERNEL_TABLE
   */
  static NamedTable byParts(SparkSession session, List<String> given) {
    return of(session, given, LoadedTable.of(session, given));
  }

  /**
   * Returns the table that a name was resolved to.
   *
   * @throws UsageTrackingException DELTA_MISSING_DELTA_TABLE; USAGE_TRACKING_KERNEL_TABLE
   */
  static NamedTable of(SparkSession session, List<String> given, ResolvedTable resolved) {
    return of(session, given, LoadedTable.of(session, given, resolved));
  }

  private static NamedTable of(SparkSession session, List<String> given, LoadedTable table) {
    if (table.isByPath()) {
      table.requireRoot(session, table.resolved().identifier().name());
    }
    return new NamedTable(session, table.fullParts(), table).requireSame(given);
  }

  /**
   * Finds the table at a path, as {@code DeltaTable.forPath} does. The path of a folder inside the
   * table is refused.
   *
   * @throws UsageTrackingException as {@link #byName}
   */
  static NamedTable byPath(SparkSession session, String path) {
    if (path.isEmpty()) {
      throw UsageTrackingErrors.invalidTableName(path, null).sneakyThrow();
    }
    String qualified = LoadedTable.qualified(session, path).toString();
    LoadedTable table = LoadedTable.of(session, List.of(DELTA, qualified));
    table.requireRoot(session, path);
    return new NamedTable(session, List.of(DELTA, table.path().toString()), table);
  }

  /** Returns the full name for {@link #byName}. */
  String name() {
    String head = isPath() ? DELTA : QuotingUtils.quoteIdentifier(parts.get(0));
    return Stream.concat(Stream.of(head), parts.stream().skip(1).map(QuotingUtils::quoteIdentifier))
        .collect(Collectors.joining("."));
  }

  /** Returns the full name, with backticks only if SQL requires them. */
  String readableName() {
    return NameParts.name(parts);
  }

  /**
   * Returns the full name as SQL text. The session's parser reads the same parts from it.
   *
   * @throws UsageTrackingException USAGE_TRACKING_INVALID_SETTING if Spark's substitution of
   *     variables would change every spelling
   */
  String sqlName() {
    String name = name();
    return Stream.of(name, name.replace(VARIABLE, NO_VARIABLE))
        .filter(this::isReadBack)
        .findFirst()
        .orElseThrow(
            () ->
                UsageTrackingErrors.invalidSetting(UNSET, session.conf().get(UNSET, ""), "empty")
                    .sneakyThrow());
  }

  /**
   * Returns the newest version of the table when it was found.
   *
   * @throws UsageTrackingException USAGE_TRACKING_AMBIGUOUS_TABLE_NAME
   */
  Snapshot snapshot() {
    if (ambiguity != null) {
      throw ambiguity.sneakyThrow();
    }
    return table.snapshot();
  }

  /** Returns the place of the table's folder. */
  Path path() {
    return table.path();
  }

  /** Returns the entry of the catalog; empty if the table was found by its path. */
  Option<CatalogTable> catalogTable() {
    return table.table().catalogTable();
  }

  /** Returns the relations that a SELECT from the name would read. */
  List<LogicalPlan> relations() {
    return all.stream().map(LoadedTable::relation).toList();
  }

  /** Returns a relation with only the name and the folder of the table. */
  LogicalPlan folder() {
    return FolderRelation.of(session, parts, table.path(), catalogTable());
  }

  /**
   * Makes {@link #snapshot} throw if a name has a table in another catalog for SQL, and one in the
   * session catalog for {@code DeltaTable.forName}.
   */
  NamedTable requireUnambiguous(String name) {
    List<String> given = NameParts.of(name);
    if (isPath() || given.size() > 2 || parts.get(0).equals(SESSION_CATALOG)) {
      return this;
    }
    TableIdentifier other = NameParts.inSession(given);
    if (DeltaTableUtils.isDeltaTable(session, other)) {
      String schema = session.sessionState().catalog().getCurrentDatabase();
      List<String> full =
          List.of(SESSION_CATALOG, other.database().getOrElse(() -> schema), other.table());
      noteDifference(name, LoadedTable.of(session, full));
    }
    return this;
  }

  private boolean isPath() {
    return parts.size() == 2 && parts.get(0).equals(DELTA);
  }

  private boolean isReadBack(String text) {
    try {
      return CollectionConverters.asJava(
              session.sessionState().sqlParser().parseMultipartIdentifier(text))
          .equals(parts);
    } catch (Exception changed) { // Scala declares no checked exceptions
      return false;
    }
  }

  /** Notes a difference between a catalog's own name and its name in the session. */
  private NamedTable requireSame(List<String> given) {
    if (!given.equals(parts)) {
      noteDifference(name(), LoadedTable.of(session, parts));
    }
    return this;
  }

  private void noteDifference(String name, LoadedTable other) {
    if (!table.path().equals(other.path())) {
      all.add(other);
      ambiguity =
          UsageTrackingErrors.ambiguousTableName(
              name, table.path().toString(), other.path().toString());
    }
  }
}
