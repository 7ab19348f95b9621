// SPDX-License-Identifier: Apache-2.0
package sparkext.sql;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.analysis.AnalysisContext;
import org.apache.spark.sql.catalyst.analysis.CurrentNamespace$;
import org.apache.spark.sql.catalyst.analysis.NoSuchNamespaceException;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.analysis.ResolvedNamespace;
import org.apache.spark.sql.catalyst.analysis.UnresolvedNamespace;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.SessionCatalog;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.CatalogV2Implicits;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.SupportsNamespaces;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.connector.catalog.V1Table;
import org.apache.spark.sql.delta.DeltaTableUtils;
import org.apache.spark.sql.delta.catalog.DeltaTableV2;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import sparkext.common.UsageTrackingErrors;
import sparkext.common.UsageTrackingException;
import sparkext.sql.InParallel.TableFailure;

/**
 * The tables that a catalog lists in a schema, or in all schemas, and whether they are Delta
 * tables.
 *
 * <p>The information is from the catalog. With Delta's catalog, no file of a table is read. Another
 * catalog's {@code loadTable} may read some, such as for Delta's Kernel connector.
 */
final class ListedTables {
  private static final String PROVIDER = "provider";
  private static final String VIEW = "VIEW";
  private static final String DELTA_CATALOG = "org.apache.spark.sql.delta.catalog.DeltaCatalog";

  private final SparkSession session;
  private final String name;
  private final TableCatalog catalog;

  /** The kind of an entry in the catalog. */
  enum Kind {
    DELTA,
    VIEW,
    OTHER,
    /** A schema whose tables the catalog does not list. */
    SCHEMA
  }

  /**
   * A listed table, or a schema that cannot be listed.
   *
   * @param parts the full name
   * @param kind null if the catalog does not know it
   * @param failure the reason why the kind is not known or the schema is not listed; null otherwise
   */
  record Listed(List<String> parts, Kind kind, TableFailure failure) {
    String name() {
      return NameParts.name(parts);
    }
  }

  /**
   * The entries of a schema.
   *
   * @param namespace the schema in the plan of SHOW TABLES
   */
  record Listing(ResolvedNamespace namespace, List<Listed> tables) {}

  private ListedTables(SparkSession session, String name, TableCatalog catalog) {
    this.session = session;
    this.name = name;
    this.catalog = catalog;
  }

  /**
   * Lists a catalog, or a schema with the schemas below.
   *
   * @param where the name of a catalog or schema; null for the current schema
   * @throws UsageTrackingException USAGE_TRACKING_INVALID_SCHEMA_NAME. Spark throws if the schema
   *     does not exist.
   */
  static Listing in(SparkSession session, String where) {
    List<String> given = where == null ? List.of() : schemaParts(where);
    ResolvedNamespace found = resolve(session, given);
    // The catalog's own name may differ from its name in the session.
    String name =
        !given.isEmpty() && NameParts.isCatalog(session, given.get(0))
            ? given.get(0)
            : found.catalog().name();
    TableCatalog catalog = new CatalogV2Implicits.CatalogHelper(found.catalog()).asTableCatalog();
    List<String> namespace = CollectionConverters.asJava(found.namespace());
    return new Listing(found, new ListedTables(session, name, catalog).under(namespace));
  }

  private static List<String> schemaParts(String name) {
    try {
      return NameParts.of(name);
    } catch (Exception noName) { // Scala declares no checked exceptions
      throw UsageTrackingErrors.invalidSchemaName(name, noName).sneakyThrow();
    }
  }

  /** Finds a schema as {@code SHOW TABLES IN} does, or as the view that contains the call. */
  private static ResolvedNamespace resolve(SparkSession session, List<String> given) {
    List<String> home = CollectionConverters.asJava(AnalysisContext.get().catalogAndNamespace());
    List<String> parts = given;
    if (given.isEmpty()) {
      parts = home;
    } else if (!home.isEmpty() && !NameParts.isCatalog(session, given.get(0))) {
      parts = Stream.concat(Stream.of(home.get(0)), given.stream()).toList();
    }
    LogicalPlan plan =
        parts.isEmpty()
            ? CurrentNamespace$.MODULE$
            : new UnresolvedNamespace(
                CollectionConverters.asScala(parts).toList(), /* fetchMetadata= */ false);
    return (ResolvedNamespace) session.sessionState().analyzer().execute(plan);
  }

  private List<Listed> under(List<String> namespace) {
    List<Listed> found = new ArrayList<>();
    try {
      addTables(namespace, found);
    } catch (NoSuchNamespaceException missing) {
      throw UsageTrackingException.sneakyThrow(missing);
    }
    for (List<String> schema : schemas(namespace)) {
      addUnder(schema, found);
    }
    if (found.isEmpty()
        && !namespace.isEmpty()
        && catalog instanceof SupportsNamespaces schemas
        && !schemas.namespaceExists(namespace.toArray(String[]::new))) {
      throw UsageTrackingException.sneakyThrow(
          new NoSuchNamespaceException(namespace.toArray(String[]::new)));
    }
    return found;
  }

  /** Adds the tables of a schema and of all schemas below it, or the failure to list them. */
  private void addUnder(List<String> namespace, List<Listed> found) {
    try {
      addTables(namespace, found);
      for (List<String> schema : schemas(namespace)) {
        addUnder(schema, found);
      }
    } catch (Exception failure) { // Scala declares no checked exceptions
      found.add(new Listed(full(namespace), Kind.SCHEMA, TableFailure.of(failure)));
    }
  }

  private List<List<String>> schemas(List<String> namespace) {
    if (!(catalog instanceof SupportsNamespaces schemas)) {
      return List.of();
    }
    try {
      String[][] children =
          namespace.isEmpty()
              ? schemas.listNamespaces()
              : schemas.listNamespaces(namespace.toArray(String[]::new));
      return Arrays.stream(children).map(List::of).toList();
    } catch (UnsupportedOperationException flat) { // Unity Catalog throws it for a schema
      return List.of();
    } catch (NoSuchNamespaceException missing) {
      throw UsageTrackingException.sneakyThrow(missing);
    }
  }

  private void addTables(List<String> namespace, List<Listed> found)
      throws NoSuchNamespaceException {
    // Spark and Unity Catalog refuse to list the tables of a catalog with schemas.
    if (namespace.isEmpty() && catalog instanceof SupportsNamespaces) {
      return;
    }
    if (catalog.getClass().getName().equals(DELTA_CATALOG)) {
      found.addAll(inSessionCatalog(namespace));
    } else {
      found.addAll(
          InParallel.map(
              session,
              List.of(catalog.listTables(namespace.toArray(String[]::new))),
              table -> new Listed(full(table), kind(table), null),
              (table, failure) -> new Listed(full(table), null, failure)));
    }
  }

  /** Reads the session catalog: Delta's catalog would read files of other formats. */
  private List<Listed> inSessionCatalog(List<String> namespace) throws NoSuchNamespaceException {
    SessionCatalog tables = session.sessionState().catalog();
    if (namespace.size() != 1) {
      throw new NoSuchNamespaceException(namespace.toArray(String[]::new));
    }
    Seq<TableIdentifier> names =
        tables.listTables(namespace.get(0), "*", /* includeLocalTempViews= */ false);
    try {
      return CollectionConverters.asJava(tables.getTablesByName(names)).stream()
          .map(table -> new Listed(full(table.identifier()), kind(table), null))
          .toList();
    } catch (Exception ofOne) { // Scala declares no checked exceptions
      return InParallel.map(
          session,
          CollectionConverters.asJava(names),
          table -> new Listed(full(table), kind(tables.getTableMetadata(table)), null),
          (table, failure) -> new Listed(full(table), null, failure));
    }
  }

  private Kind kind(Identifier identifier) throws NoSuchTableException {
    Table table = catalog.loadTable(identifier);
    if (table instanceof V1Table v1) {
      return kind(v1.catalogTable());
    }
    // The properties of a DeltaTableV2 are in its log.
    boolean isDelta =
        table instanceof DeltaTableV2
            || NameParts.DELTA.equalsIgnoreCase(table.properties().get(PROVIDER));
    return isDelta ? Kind.DELTA : Kind.OTHER;
  }

  private static Kind kind(CatalogTable table) {
    if (table.tableType().name().toUpperCase(Locale.ROOT).endsWith(VIEW)) {
      return Kind.VIEW;
    }
    return DeltaTableUtils.isDeltaTable(table) ? Kind.DELTA : Kind.OTHER;
  }

  private List<String> full(List<String> namespace) {
    return Stream.concat(Stream.of(name), namespace.stream()).toList();
  }

  private List<String> full(Identifier table) {
    return Stream.of(Stream.of(name), Arrays.stream(table.namespace()), Stream.of(table.name()))
        .flatMap(part -> part)
        .toList();
  }

  private List<String> full(TableIdentifier table) {
    return List.of(name, table.database().get(), table.table());
  }
}
