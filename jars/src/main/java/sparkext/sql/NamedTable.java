// SPDX-License-Identifier: Apache-2.0
package sparkext.sql;

import io.delta.tables.DeltaTable;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.AnalysisException;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.analysis.AnalysisContext;
import org.apache.spark.sql.catalyst.analysis.ResolvedTable;
import org.apache.spark.sql.catalyst.analysis.UnresolvedTable;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.SessionCatalog;
import org.apache.spark.sql.catalyst.parser.CatalystSqlParser$;
import org.apache.spark.sql.catalyst.parser.ParseException;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.util.QuotingUtils;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.DeltaTableIdentifier;
import org.apache.spark.sql.delta.DeltaTableUtils;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.catalog.DeltaTableV2;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;
import sparkext.error.UsageTrackingErrors;
import sparkext.error.UsageTrackingException;

/**
 * A Delta table, and the full name that leads to it whatever the current catalog and schema are.
 *
 * <p>It is found as {@code ALTER TABLE} finds it, by Spark's analyzer: what is told of a table and
 * what is done to it then concern the same one.
 */
final class NamedTable {
  private static final String DELTA = "delta";
  private static final String SESSION_CATALOG = "spark_catalog";
  private static final String CATALOG = "spark.sql.catalog.";

  /** More than any catalog or file system takes; Spark reads longer ones in quadratic time. */
  private static final int MAX_LENGTH = 32_768;

  /**
   * Spark substitutes a variable that nobody set by nothing, and does not look at the rest again.
   */
  private static final String UNSET = "sparkext.unset";

  private static final String VARIABLE = "${";
  private static final String NO_VARIABLE = "$${" + UNSET + "}{";

  private final SparkSession session;
  private final List<String> parts;
  private final DeltaTableV2 table;

  private NamedTable(SparkSession session, List<String> parts, DeltaTableV2 table) {
    this.session = session;
    this.parts = parts;
    this.table = table;
  }

  /**
   * The table that SQL means by a name, which is not read as SQL text: no variable in it is
   * substituted.
   *
   * @throws UsageTrackingException USAGE_TRACKING_INVALID_TABLE_NAME; DELTA_MISSING_DELTA_TABLE
   */
  static NamedTable byName(SparkSession session, String name) {
    List<String> given = parts(name);
    ResolvedTable found = resolve(session, given);
    DeltaTableV2 table = (DeltaTableV2) found.table();
    List<String> full = isPath(found) ? pathParts(table.deltaLog()) : fullParts(found);
    if (isPath(found)) {
      requireRoot(session, found.identifier().name(), table.deltaLog());
    }
    return new NamedTable(session, full, table).requireSame(given);
  }

  /**
   * The table at a path, as {@code DeltaTable.forPath} finds it, unless the path is that of
   * something inside it.
   *
   * @throws UsageTrackingException as {@link #byName}
   */
  static NamedTable byPath(SparkSession session, String path) {
    if (path.isEmpty()) {
      throw UsageTrackingErrors.invalidTableName(path, null).sneak();
    }
    DeltaLog log = DeltaTable.forPath(session, path).deltaLog();
    requireRoot(session, path, log);
    List<String> full = pathParts(log);
    DeltaTableV2 table = (DeltaTableV2) resolve(session, full).table();
    requireEqual(path, log, table.deltaLog());
    return new NamedTable(session, full, table);
  }

  /**
   * Where the table of a name lies, which Delta may not be able to open.
   *
   * @throws UsageTrackingException as {@link #byName}
   */
  static Path location(SparkSession session, String name, Configuration configuration)
      throws IOException, AnalysisException {
    List<String> given = parts(name);
    if (given.size() == 2 && given.get(0).equalsIgnoreCase(DELTA)) {
      Path path = new Path(given.get(1));
      return path.getFileSystem(configuration).makeQualified(path);
    }
    return knownLocation(session, given)
        .orElseGet(() -> byName(session, name).table.deltaLog().dataPath());
  }

  /** That of a Delta table in the session catalog. */
  private static Optional<Path> knownLocation(SparkSession session, List<String> parts)
      throws AnalysisException {
    boolean isNamed = parts.size() == 3 && parts.get(0).equals(SESSION_CATALOG);
    if (!isNamed
        && (parts.size() > 2 || !session.catalog().currentCatalog().equals(SESSION_CATALOG))) {
      return Optional.empty();
    }
    TableIdentifier identifier = tableIdentifier(isNamed ? parts.subList(1, 3) : parts);
    SessionCatalog catalog = session.sessionState().catalog();
    if (catalog.isTempView(identifier) || !catalog.tableExists(identifier)) {
      return Optional.empty();
    }
    CatalogTable table = catalog.getTableMetadata(identifier);
    return DeltaTableUtils.isDeltaTable(table)
        ? Optional.of(new Path(table.location()))
        : Optional.empty();
  }

  /** Delta's refusal of a name that leads to no Delta table. */
  static UsageTrackingException missing(String name) {
    return UsageTrackingErrors.missingDeltaTable(deltaIdentifier(parts(name)));
  }

  /** The full name, as {@link #byName} takes it. */
  String name() {
    String head = isPath() ? DELTA : QuotingUtils.quoteIdentifier(parts.get(0));
    return Stream.concat(Stream.of(head), parts.stream().skip(1).map(QuotingUtils::quoteIdentifier))
        .collect(Collectors.joining("."));
  }

  /**
   * The full name as SQL text, from which this session's parser reads these very parts.
   *
   * @throws UsageTrackingException USAGE_TRACKING_INVALID_SETTING, where Spark's substitution of
   *     variables changes it in any spelling
   */
  String sqlName() {
    String name = name();
    return Stream.of(name, name.replace(VARIABLE, NO_VARIABLE))
        .filter(this::isReadBack)
        .findFirst()
        .orElseThrow(
            () ->
                UsageTrackingErrors.invalidSetting(UNSET, session.conf().get(UNSET, ""), "empty")
                    .sneak());
  }

  /** The newest version of the table. */
  Snapshot snapshot() {
    return table.update();
  }

  /**
   * Refuses a name by which SQL means a table of another catalog, and {@code DeltaTable.forName}
   * one of the session catalog.
   *
   * @throws UsageTrackingException USAGE_TRACKING_AMBIGUOUS_TABLE_NAME
   */
  NamedTable requireUnambiguous(String name) {
    List<String> given = parts(name);
    if (isPath() || given.size() > 2 || parts.get(0).equals(SESSION_CATALOG)) {
      return this;
    }
    TableIdentifier other = tableIdentifier(given);
    if (DeltaTableUtils.isDeltaTable(session, other)) {
      requireEqual(name, table.deltaLog(), DeltaLog.forTable(session, other));
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

  /** A catalog may call itself otherwise than the session calls it. */
  private NamedTable requireSame(List<String> given) {
    if (!given.equals(parts)) {
      DeltaTableV2 same = (DeltaTableV2) resolve(session, parts).table();
      requireEqual(name(), table.deltaLog(), same.deltaLog());
    }
    return this;
  }

  private static void requireEqual(String name, DeltaLog one, DeltaLog other) {
    if (!one.dataPath().equals(other.dataPath())) {
      throw UsageTrackingErrors.ambiguousTableName(
              name, one.dataPath().toString(), other.dataPath().toString())
          .sneak();
    }
  }

  private static List<String> parts(String name) {
    if (name.length() > MAX_LENGTH) {
      throw UsageTrackingErrors.invalidTableName(name.substring(0, 100) + "..", null).sneak();
    }
    List<String> parts;
    try {
      parts =
          CollectionConverters.asJava(CatalystSqlParser$.MODULE$.parseMultipartIdentifier(name));
    } catch (Exception unreadable) { // Scala declares no checked exception: ParseException is one
      throw unreadable instanceof ParseException
          ? UsageTrackingErrors.invalidTableName(name, unreadable).sneak()
          : UsageTrackingException.sneak(unreadable);
    }
    if (parts.contains("")) {
      throw UsageTrackingErrors.invalidTableName(name, null).sneak();
    }
    return List.copyOf(parts);
  }

  private static ResolvedTable resolve(SparkSession session, List<String> parts) {
    LogicalPlan table =
        new UnresolvedTable(
            CollectionConverters.asScala(inView(session, parts)).toList(),
            "ALTER TABLE",
            /* suggest= */ false);
    if (session.sessionState().analyzer().execute(table) instanceof ResolvedTable found
        && found.table() instanceof DeltaTableV2 delta
        && delta.update().version() >= 0) {
      return found;
    }
    throw UsageTrackingErrors.missingDeltaTable(deltaIdentifier(parts)).sneak();
  }

  /**
   * A name in the text of a view means the tables of the catalog and schema that the view was
   * created in.
   *
   * <p>Source: Spark 4.0 to 4.2, RelationResolution.scala, {@code expandIdentifier}.
   */
  private static List<String> inView(SparkSession session, List<String> parts) {
    List<String> home = CollectionConverters.asJava(AnalysisContext.get().catalogAndNamespace());
    boolean isWhole =
        parts.size() > 1
            && (parts.get(0).equalsIgnoreCase(DELTA) || isCatalog(session, parts.get(0)));
    if (home.isEmpty() || isWhole) {
      return parts;
    }
    List<String> missing = parts.size() == 1 ? home : home.subList(0, 1);
    return Stream.concat(missing.stream(), parts.stream()).toList();
  }

  /** Spark's own method for it is one of a class in 4.0 and 4.1, and of an interface in 4.2. */
  private static boolean isCatalog(SparkSession session, String name) {
    return name.equalsIgnoreCase(SESSION_CATALOG)
        || session.conf().getOption(CATALOG + name).isDefined();
  }

  private static DeltaTableIdentifier deltaIdentifier(List<String> parts) {
    if (parts.size() > 2) {
      return new DeltaTableIdentifier(Option.apply(String.join(".", parts)), Option.empty());
    }
    return new DeltaTableIdentifier(Option.empty(), Option.apply(tableIdentifier(parts)));
  }

  private static TableIdentifier tableIdentifier(List<String> parts) {
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
        // As the catalog writes it: in other letters it is another's where their case counts.
        return List.of(found.catalog().name(), schema, table.table());
      }
    }
    return Stream.of(
            Stream.of(found.catalog().name()),
            Stream.of(identifier.namespace()),
            Stream.of(identifier.name()))
        .flatMap(part -> part)
        .toList();
  }

  /** Delta takes the path of a partition, and one that ends in {@code @v1}, for its table's. */
  private static void requireRoot(SparkSession session, String path, DeltaLog log) {
    try {
      Path given = new Path(path);
      if (!given
          .getFileSystem(log.newDeltaHadoopConf())
          .makeQualified(given)
          .equals(log.dataPath())) {
        throw UsageTrackingErrors.missingDeltaTable(
                new DeltaTableIdentifier(Option.apply(path), Option.empty()))
            .sneak();
      }
    } catch (IOException unreachable) {
      throw new UncheckedIOException(unreachable);
    }
  }
}
