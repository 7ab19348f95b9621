// SPDX-License-Identifier: Apache-2.0
package sparkext.sql;

import static sparkext.sql.NameParts.DELTA;
import static sparkext.sql.NameParts.SESSION_CATALOG;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.analysis.ResolvedTable;
import org.apache.spark.sql.catalyst.analysis.UnresolvedTable;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias$;
import org.apache.spark.sql.catalyst.util.QuotingUtils;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.CatalogPlugin;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.DeltaTableIdentifier;
import org.apache.spark.sql.delta.DeltaTableUtils;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.catalog.DeltaTableV2;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation$;
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
  /**
   * Spark substitutes nothing for a variable that is not set, and does not parse the rest again.
   */
  private static final String UNSET = "sparkext.unset";

  private static final String VARIABLE = "${";
  private static final String NO_VARIABLE = "$${" + UNSET + "}{";

  /** The setting of Delta's catalog for the connector of its tables, and its default. */
  private static final String CONNECTOR = "spark.databricks.delta.v2.enableMode";

  private static final String EITHER = "AUTO";

  /** The package of Kernel's tables since Delta 4.4. The jar is compiled without them. */
  private static final String KERNEL_CONNECTOR = "io.delta.spark.internal.v2.";

  private final SparkSession session;
  private final List<String> parts;
  private final DeltaTableV2 table;
  private final Snapshot snapshot;

  /** The table of the name; two tables if the name is ambiguous. */
  private final List<ResolvedTable> resolved = new ArrayList<>();

  /** Thrown late: it contains places of tables. Null if the name is not ambiguous. */
  private UsageTrackingException ambiguity;

  private NamedTable(SparkSession session, List<String> parts, Found found) {
    this.session = session;
    this.parts = parts;
    this.table = found.table;
    this.snapshot = found.snapshot;
    this.resolved.add(found.resolved);
  }

  /** The table of a name, with its newest version. */
  private record Found(ResolvedTable resolved, DeltaTableV2 table, Snapshot snapshot) {}

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
    return of(session, given, analysed(session, given));
  }

  /**
   * Returns the table that a name was resolved to.
   *
   * @throws UsageTrackingException DELTA_MISSING_DELTA_TABLE; USAGE_TRACKING_KERNEL_TABLE
   */
  static NamedTable of(SparkSession session, List<String> given, ResolvedTable resolved) {
    Found found = found(session, given, resolved);
    DeltaLog log = found.table.deltaLog();
    boolean isPath = isPath(found.resolved);
    if (isPath) {
      requireRoot(session, found.resolved.identifier().name(), log);
    }
    List<String> full = isPath ? pathParts(log) : fullParts(found.resolved);
    return new NamedTable(session, full, found).requireSame(given);
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
    Found found = resolve(session, List.of(DELTA, qualified(session, path).toString()));
    DeltaLog log = found.table.deltaLog();
    requireRoot(session, path, log);
    return new NamedTable(session, pathParts(log), found);
  }

  /** {@code DeltaTable.forPath} is not used: its refusal would show the table's columns. */
  private static Path qualified(SparkSession session, String path) {
    try {
      Path given = new Path(path);
      return given.getFileSystem(session.sessionState().newHadoopConf()).makeQualified(given);
    } catch (IOException unreachable) {
      throw new UncheckedIOException(unreachable);
    }
  }

  /** Returns Delta's refusal of a name without a Delta table. */
  static UsageTrackingException missing(String name) {
    return UsageTrackingErrors.missingDeltaTable(deltaIdentifier(NameParts.of(name)));
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
    return snapshot;
  }

  /** Returns what a SELECT from the name would read. */
  List<LogicalPlan> relations() {
    return resolved.stream().map(NamedTable::relation).toList();
  }

  /** Returns the same as a relation that holds nothing of the table but its name and place. */
  LogicalPlan folder() {
    return FolderRelation.of(session, parts, table.deltaLog().dataPath(), table.catalogTable());
  }

  private static LogicalPlan relation(ResolvedTable found) {
    return relation(found.catalog(), found.identifier(), found.table());
  }

  /**
   * Returns the relation of a table that a catalog has loaded.
   *
   * <p>Source: Spark 4.0 to 4.2, RelationResolution.scala, {@code createRelation}.
   */
  static LogicalPlan relation(CatalogPlugin catalog, Identifier identifier, Table table) {
    return SubqueryAlias$.MODULE$.apply(
        CollectionConverters.asScala(parts(catalog, identifier)).toList(),
        DataSourceV2Relation$.MODULE$.create(
            table, Option.apply(catalog), Option.apply(identifier)));
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
    TableIdentifier other = tableIdentifier(given);
    if (DeltaTableUtils.isDeltaTable(session, other)) {
      String schema = session.sessionState().catalog().getCurrentDatabase();
      List<String> full =
          List.of(SESSION_CATALOG, other.database().getOrElse(() -> schema), other.table());
      noteDifference(name, table.deltaLog(), resolve(session, full));
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
    } catch (Exception changed) { // Scala declares no checked exception: ParseException is one
      return false;
    }
  }

  /** The catalog's own name may differ from its name in the session. */
  private NamedTable requireSame(List<String> given) {
    if (!given.equals(parts)) {
      noteDifference(name(), table.deltaLog(), resolve(session, parts));
    }
    return this;
  }

  private void noteDifference(String name, DeltaLog one, Found other) {
    Path place = other.table.deltaLog().dataPath();
    if (!one.dataPath().equals(place)) {
      resolved.add(other.resolved);
      ambiguity =
          UsageTrackingErrors.ambiguousTableName(name, one.dataPath().toString(), place.toString());
    }
  }

  private static Found resolve(SparkSession session, List<String> parts) {
    return found(session, parts, analysed(session, parts));
  }

  /**
   * Returns the table that {@code ALTER TABLE} finds by a name.
   *
   * @throws UsageTrackingException DELTA_MISSING_DELTA_TABLE
   */
  static ResolvedTable analysed(SparkSession session, List<String> parts) {
    LogicalPlan table =
        new UnresolvedTable(
            CollectionConverters.asScala(parts).toList(), "ALTER TABLE", /* suggest= */ false);
    if (session.sessionState().analyzer().execute(table) instanceof ResolvedTable found) {
      return found;
    }
    throw missing(parts);
  }

  private static Found found(SparkSession session, List<String> parts, ResolvedTable found) {
    if (found.table() instanceof DeltaTableV2 delta) {
      Snapshot newest = delta.update();
      if (newest.version() >= 0) {
        return new Found(found, delta, newest);
      }
    }
    if (isKernel(found.table())) {
      // Delta's commands do not know the table, and Spark's would change the catalog only.
      String connector = session.conf().get(CONNECTOR, EITHER);
      throw UsageTrackingErrors.kernelTable(NameParts.name(parts), CONNECTOR, connector)
          .sneakyThrow();
    }
    throw missing(parts);
  }

  /** Returns whether Delta's second connector reads a table. */
  static boolean isKernel(Table table) {
    return isKernel(table.getClass().getName());
  }

  static boolean isKernel(String className) {
    return className.startsWith(KERNEL_CONNECTOR);
  }

  private static RuntimeException missing(List<String> parts) {
    return UsageTrackingErrors.missingDeltaTable(deltaIdentifier(parts)).sneakyThrow();
  }

  private static DeltaTableIdentifier deltaIdentifier(List<String> parts) {
    if (parts.size() > 2) {
      return new DeltaTableIdentifier(Option.apply(String.join(".", parts)), Option.empty());
    }
    return new DeltaTableIdentifier(Option.empty(), Option.apply(tableIdentifier(parts)));
  }

  static TableIdentifier tableIdentifier(List<String> parts) {
    Option<String> schema = parts.size() == 2 ? Option.apply(parts.get(0)) : Option.empty();
    return new TableIdentifier(parts.get(parts.size() - 1), schema);
  }

  private static boolean isPath(ResolvedTable found) {
    Identifier identifier = found.identifier();
    return ((DeltaTableV2) found.table()).catalogTable().isEmpty()
        && found.catalog().name().equals(SESSION_CATALOG)
        && identifier.namespace().length == 1
        && identifier.namespace()[0].equalsIgnoreCase(DELTA);
  }

  private static List<String> pathParts(DeltaLog log) {
    return List.of(DELTA, log.dataPath().toString());
  }

  private static List<String> fullParts(ResolvedTable found) {
    Identifier identifier = found.identifier();
    Option<CatalogTable> known = ((DeltaTableV2) found.table()).catalogTable();
    if (known.isDefined() && identifier.namespace().length == 1) {
      TableIdentifier table = known.get().identifier();
      String schema = table.database().getOrElse(() -> "");
      if (schema.equalsIgnoreCase(identifier.namespace()[0])
          && table.table().equalsIgnoreCase(identifier.name())) {
        // The catalog's letter case: some catalogs are case-sensitive.
        return List.of(found.catalog().name(), schema, table.table());
      }
    }
    return parts(found.catalog(), identifier);
  }

  private static List<String> parts(CatalogPlugin catalog, Identifier identifier) {
    return Stream.of(
            Stream.of(catalog.name()),
            Stream.of(identifier.namespace()),
            Stream.of(identifier.name()))
        .flatMap(part -> part)
        .toList();
  }

  /** Delta accepts the path of a partition, and a path with {@code @v1}, for the table. */
  private static void requireRoot(SparkSession session, String path, DeltaLog log) {
    if (!qualified(session, path).equals(log.dataPath())) {
      throw UsageTrackingErrors.missingDeltaTable(
              new DeltaTableIdentifier(Option.apply(path), Option.empty()))
          .sneakyThrow();
    }
  }
}
