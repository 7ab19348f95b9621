// SPDX-License-Identifier: Apache-2.0
package sparkext.sql;

import static sparkext.sql.NameParts.DELTA;
import static sparkext.sql.NameParts.SESSION_CATALOG;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.stream.Stream;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.analysis.ResolvedTable;
import org.apache.spark.sql.catalyst.analysis.UnresolvedTable;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias$;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.CatalogPlugin;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.delta.DeltaTableIdentifier;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.catalog.DeltaTableV2;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation$;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;
import sparkext.common.UsageTrackingErrors;
import sparkext.common.UsageTrackingException;

/**
 * A Delta table with its newest version, as Spark's analyzer finds the table for {@code ALTER
 * TABLE}.
 *
 * @param resolved the catalog, the identifier and the table
 * @param table the same table
 */
record LoadedTable(ResolvedTable resolved, DeltaTableV2 table, Snapshot snapshot) {
  /** The setting of Delta's catalog for the connector of its tables, and its default. */
  private static final String CONNECTOR = "spark.databricks.delta.v2.enableMode";

  private static final String EITHER = "AUTO";

  /** The package of Kernel's tables since Delta 4.4. The jar is compiled without them. */
  private static final String KERNEL_CONNECTOR = "io.delta.spark.internal.v2.";

  /**
   * Finds the table of a name's parts. A log that the analyzer has just read is not listed again.
   *
   * @throws UsageTrackingException DELTA_MISSING_DELTA_TABLE; USAGE_TRACKING_KERNEL_TABLE
   */
  static LoadedTable of(SparkSession session, List<String> parts) {
    Option<Object> since = Option.apply(System.currentTimeMillis());
    return of(session, parts, analysed(session, parts), since);
  }

  /**
   * Loads the table that a name was resolved to.
   *
   * @throws UsageTrackingException DELTA_MISSING_DELTA_TABLE; USAGE_TRACKING_KERNEL_TABLE
   */
  static LoadedTable of(SparkSession session, List<String> parts, ResolvedTable found) {
    return of(session, parts, found, /* since= */ Option.empty());
  }

  /**
   * Loads a table.
   *
   * @param since the time in milliseconds from which a version that was read is new enough
   */
  private static LoadedTable of(
      SparkSession session, List<String> parts, ResolvedTable found, Option<Object> since) {
    if (found.table() instanceof DeltaTableV2 delta) {
      Snapshot newest =
          delta.deltaLog().update(/* stalenessAcceptable= */ false, since, delta.catalogTable());
      if (newest.version() >= 0) {
        return new LoadedTable(found, delta, newest);
      }
    }
    if (isKernel(found.table().getClass().getName())) {
      // Delta's commands do not know the table, and Spark's would change the catalog only.
      String connector = session.conf().get(CONNECTOR, EITHER);
      throw UsageTrackingErrors.kernelTable(NameParts.name(parts), CONNECTOR, connector)
          .sneakyThrow();
    }
    throw missing(parts).sneakyThrow();
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
    throw missing(parts).sneakyThrow();
  }

  /** Returns whether a class belongs to Delta's DataSource V2 connector (Delta Kernel). */
  static boolean isKernel(String className) {
    return className.startsWith(KERNEL_CONNECTOR);
  }

  /** Returns Delta's refusal of a name without a Delta table. */
  static UsageTrackingException missing(List<String> parts) {
    return UsageTrackingErrors.missingDeltaTable(
        parts.size() > 2
            ? new DeltaTableIdentifier(Option.apply(String.join(".", parts)), Option.empty())
            : new DeltaTableIdentifier(Option.empty(), Option.apply(NameParts.inSession(parts))));
  }

  /** Returns the path of the table's folder. */
  Path path() {
    return table.deltaLog().dataPath();
  }

  /** Returns whether the name is a path. */
  boolean isByPath() {
    Identifier identifier = resolved.identifier();
    return table.catalogTable().isEmpty()
        && resolved.catalog().name().equals(SESSION_CATALOG)
        && identifier.namespace().length == 1
        && identifier.namespace()[0].equalsIgnoreCase(DELTA);
  }

  /**
   * Throws if a path is not that of the table's folder. Delta accepts the path of a partition, and
   * a path with {@code @v1}, for the table.
   *
   * @throws UsageTrackingException DELTA_MISSING_DELTA_TABLE
   */
  LoadedTable requireRoot(SparkSession session, String given) {
    if (!qualified(session, given).equals(path())) {
      throw UsageTrackingErrors.missingDeltaTable(
              new DeltaTableIdentifier(Option.apply(given), Option.empty()))
          .sneakyThrow();
    }
    return this;
  }

  /**
   * Returns a path with scheme and authority. {@code DeltaTable.forPath} is not used: its error
   * would show the table's columns.
   */
  static Path qualified(SparkSession session, String path) {
    try {
      Path given = new Path(path);
      return given.getFileSystem(session.sessionState().newHadoopConf()).makeQualified(given);
    } catch (IOException unreachable) {
      throw new UncheckedIOException(unreachable);
    }
  }

  /** Returns the parts of the table's full name. */
  List<String> fullParts() {
    if (isByPath()) {
      return List.of(DELTA, path().toString());
    }
    Identifier identifier = resolved.identifier();
    Option<CatalogTable> known = table.catalogTable();
    if (known.isDefined() && identifier.namespace().length == 1) {
      TableIdentifier entry = known.get().identifier();
      String schema = entry.database().getOrElse(() -> "");
      if (schema.equalsIgnoreCase(identifier.namespace()[0])
          && entry.table().equalsIgnoreCase(identifier.name())) {
        // Some catalogs are case-sensitive, so the name has the letter case of the catalog.
        return List.of(resolved.catalog().name(), schema, entry.table());
      }
    }
    return parts(resolved.catalog(), identifier);
  }

  /** Returns the relation that a SELECT from the name would read. */
  LogicalPlan relation() {
    return relation(resolved.catalog(), resolved.identifier(), table);
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

  private static List<String> parts(CatalogPlugin catalog, Identifier identifier) {
    return Stream.of(
            Stream.of(catalog.name()),
            Stream.of(identifier.namespace()),
            Stream.of(identifier.name()))
        .flatMap(part -> part)
        .toList();
  }
}
