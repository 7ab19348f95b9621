// SPDX-License-Identifier: Apache-2.0
package sparkext.sql;

import static sparkext.sql.NameParts.DELTA;
import static sparkext.sql.NameParts.SESSION_CATALOG;

import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.AnalysisException;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.analysis.ResolvedTable;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.SessionCatalog;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.DeltaTableUtils;
import org.apache.spark.sql.delta.Snapshot;
import scala.Option;
import scala.collection.immutable.Map;
import scala.collection.immutable.Map$;
import scala.jdk.javaapi.CollectionConverters;
import sparkext.common.UsageTrackingException;

/**
 * The place of a table that Delta may not be able to open.
 *
 * @param path the table's folder
 * @param configuration for reading, with the credentials of the table's catalog
 * @param newest reads the newest version, which may consist of staged commits
 */
record TablePlace(Path path, Configuration configuration, Supplier<Snapshot> newest) {
  /**
   * Finds a table, for either of Delta's connectors.
   *
   * @throws UsageTrackingException USAGE_TRACKING_INVALID_TABLE_NAME; DELTA_MISSING_DELTA_TABLE
   */
  static TablePlace of(SparkSession session, String name) throws IOException, AnalysisException {
    List<String> given = NameParts.inView(session, NameParts.of(name));
    if (given.size() == 2 && given.get(0).equalsIgnoreCase(DELTA)) {
      return atPath(session, new Path(given.get(1)));
    }
    Optional<CatalogTable> known = known(session, given);
    if (known.isPresent()) {
      return ofEntry(session, known.get());
    }
    ResolvedTable found = LoadedTable.analysed(session, given);
    if (LoadedTable.isKernel(found.table().getClass().getName())) {
      return ofKernel(session, given, found);
    }
    Snapshot newest = NamedTable.of(session, given, found).snapshot();
    DeltaLog log = newest.deltaLog();
    return new TablePlace(log.dataPath(), log.newDeltaHadoopConf(), () -> newest);
  }

  private static TablePlace atPath(SparkSession session, Path path) throws IOException {
    Configuration configuration = session.sessionState().newHadoopConf();
    return new TablePlace(
        path.getFileSystem(configuration).makeQualified(path),
        configuration,
        () -> newest(DeltaLog.forTable(session, path), Option.empty()));
  }

  private static TablePlace ofEntry(SparkSession session, CatalogTable entry) {
    Map<String, String> options = fileSystemOptions(entry);
    return new TablePlace(
        new Path(entry.location()),
        session.sessionState().newHadoopConfWithOptions(options),
        () -> newest(DeltaLog.forTable(session, entry, options), Option.apply(entry)));
  }

  /** Returns the options that Delta's first connector takes from a table of a catalog. */
  private static Map<String, String> fileSystemOptions(CatalogTable entry) {
    List<String> prefixes =
        CollectionConverters.asJava(DeltaTableUtils.validDeltaTableHadoopPrefixes());
    java.util.Map<String, String> options =
        new HashMap<>(CollectionConverters.asJava(entry.storage().properties()));
    options.keySet().removeIf(key -> prefixes.stream().noneMatch(key::startsWith));
    return Map$.MODULE$.from(CollectionConverters.asScala(options));
  }

  private static Snapshot newest(DeltaLog log, Option<CatalogTable> entry) {
    return log.update(/* stalenessAcceptable= */ false, Option.empty(), entry);
  }

  /** Calls methods by name: the jar is compiled against a Delta without this connector. */
  private static TablePlace ofKernel(SparkSession session, List<String> given, ResolvedTable found)
      throws IOException {
    try {
      Optional<?> entry = (Optional<?>) invoke(found.table(), "getCatalogTable");
      return entry.isPresent()
          ? ofEntry(session, (CatalogTable) entry.get())
          : atPath(session, (Path) invoke(found.table(), "getTablePath"));
    } catch (ReflectiveOperationException unknown) {
      // This release has other methods. The refusal names another way to reach the table.
      NamedTable.of(session, given, found);
      throw UsageTrackingException.sneakyThrow(unknown);
    }
  }

  private static Object invoke(Table table, String method) throws ReflectiveOperationException {
    return table.getClass().getMethod(method).invoke(table);
  }

  /** Returns the entry of a Delta table in the session catalog. */
  private static Optional<CatalogTable> known(SparkSession session, List<String> parts)
      throws AnalysisException {
    boolean isNamed = parts.size() == 3 && parts.get(0).equals(SESSION_CATALOG);
    boolean isOfCatalog = parts.size() == 2 && NameParts.isCatalog(session, parts.get(0));
    if (!isNamed
        && (parts.size() > 2
            || isOfCatalog
            || !session.catalog().currentCatalog().equals(SESSION_CATALOG))) {
      return Optional.empty();
    }
    TableIdentifier identifier = NameParts.inSession(isNamed ? parts.subList(1, 3) : parts);
    SessionCatalog catalog = session.sessionState().catalog();
    if (catalog.isTempView(identifier) || !catalog.tableExists(identifier)) {
      return Optional.empty();
    }
    CatalogTable table = catalog.getTableMetadata(identifier);
    return DeltaTableUtils.isDeltaTable(table) ? Optional.of(table) : Optional.empty();
  }
}
