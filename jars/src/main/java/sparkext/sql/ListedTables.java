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
import sparkext.error.UsageTrackingErrors;
import sparkext.error.UsageTrackingException;

/**
 * What a catalog lists in a schema, or everywhere, and which of it are Delta tables.
 *
 * <p>The catalog alone says that: no file of a table is read, whatever its format.
 */
final class ListedTables {
  private static final String PROVIDER = "provider";
  private static final String VIEW = "VIEW";
  private static final String DELTA_CATALOG = "org.apache.spark.sql.delta.catalog.DeltaCatalog";

  private final SparkSession session;
  private final String name;
  private final TableCatalog catalog;

  /** What is listed, where the catalog knows it; else it may be a Delta table or not. */
  enum Kind {
    DELTA,
    VIEW,
    OTHER
  }

  /**
   * A table that is listed, or a schema that cannot be.
   *
   * @param parts its full name
   * @param kind null where the catalog does not know it
   * @param failure why not; else null
   */
  record Listed(List<String> parts, Kind kind, TableFailure failure) {
    String name() {
      return NameParts.name(parts);
    }
  }

  /**
   * What is listed, and where.
   *
   * @param namespace the catalog's schema, as SHOW TABLES has it in its plan
   */
  record Listing(ResolvedNamespace namespace, List<Listed> tables) {}

  private ListedTables(SparkSession session, String name, TableCatalog catalog) {
    this.session = session;
    this.name = name;
    this.catalog = catalog;
  }

  /**
   * What is listed in a catalog or in a schema and those below it.
   *
   * @param where the name of one; null for the current schema
   * @throws UsageTrackingException USAGE_TRACKING_INVALID_SCHEMA_NAME; Spark's, where there is none
   */
  static Listing in(SparkSession session, String where) {
    List<String> given = where == null ? List.of() : schemaParts(where);
    ResolvedNamespace found = resolve(session, given);
    // A catalog may call itself otherwise than the session calls it.
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
    } catch (Exception noName) { // Scala declares no checked exception
      throw UsageTrackingErrors.invalidSchemaName(name, noName).sneakyThrow();
    }
  }

  /** As {@code SHOW TABLES IN} finds it; in a view, from where the view was created. */
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

  /** One schema among many that cannot be listed ends nothing. */
  private void addUnder(List<String> namespace, List<Listed> found) {
    try {
      addTables(namespace, found);
      for (List<String> schema : schemas(namespace)) {
        addUnder(schema, found);
      }
    } catch (Exception failure) { // Scala declares no checked exception
      found.add(new Listed(full(namespace), null, TableFailure.of(failure)));
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
    } catch (UnsupportedOperationException flat) { // Unity Catalog's, of a schema
      return List.of();
    } catch (NoSuchNamespaceException missing) {
      throw UsageTrackingException.sneakyThrow(missing);
    }
  }

  private void addTables(List<String> namespace, List<Listed> found)
      throws NoSuchNamespaceException {
    // Of a catalog with schemas, Spark and Unity Catalog refuse the question.
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

  /** Delta's catalog would look at files to load a table of some other formats. */
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
    } catch (Exception ofOne) { // Scala declares no checked exception
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
    // Those of Delta's own are in its log.
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
