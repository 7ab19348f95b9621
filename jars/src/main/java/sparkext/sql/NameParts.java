// SPDX-License-Identifier: Apache-2.0
package sparkext.sql;

import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.analysis.AnalysisContext;
import org.apache.spark.sql.catalyst.parser.CatalystSqlParser$;
import org.apache.spark.sql.catalyst.parser.ParseException;
import org.apache.spark.sql.catalyst.util.QuotingUtils;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.internal.SQLConf;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;
import sparkext.common.UsageTrackingErrors;
import sparkext.common.UsageTrackingException;

/** Parses names of tables and schemas. Variables in a name are not substituted. */
final class NameParts {
  static final String DELTA = "delta";
  static final String SESSION_CATALOG = "spark_catalog";
  private static final String CATALOG = "spark.sql.catalog.";

  /** Catalogs and file systems have lower limits. Spark parses names in quadratic time. */
  private static final int MAX_LENGTH = 32_768;

  /** The parser reads some other words, such as {@code 1d}, as literals. */
  private static final Pattern PLAIN = Pattern.compile("[A-Za-z_][A-Za-z_0-9]*");

  /**
   * The words that Delta's statements, such as DROP FEATURE, accept as a name only in backticks.
   *
   * <p>Source: Delta 4.4.0, DeltaSqlBase.g4: the keywords that are not in {@code nonReserved}.
   */
  private static final Set<String> RESERVED_BY_DELTA =
      Set.of(
          ("ADD ALTER COMMENT CONSTRAINT CREATE DROP FALSE HISTORY IF LOCATION NOT NULL OR REPLACE"
                  + " SYSTEM_TIME SYSTEM_VERSION TBLPROPERTIES TIMESTAMP TRUE VERSION WHERE")
              .split(" "));

  private NameParts() {}

  /**
   * Returns the parts of a name.
   *
   * @throws UsageTrackingException USAGE_TRACKING_INVALID_TABLE_NAME
   */
  static List<String> of(String name) {
    if (name.length() > MAX_LENGTH) {
      throw UsageTrackingErrors.invalidTableName(name.substring(0, 100) + "..", null).sneakyThrow();
    }
    List<String> parts;
    try {
      parts =
          CollectionConverters.asJava(CatalystSqlParser$.MODULE$.parseMultipartIdentifier(name));
    } catch (Exception unreadable) { // Scala declares no checked exceptions
      throw unreadable instanceof ParseException
          ? UsageTrackingErrors.invalidTableName(name, unreadable).sneakyThrow()
          : UsageTrackingException.sneakyThrow(unreadable);
    }
    if (parts.contains("")) {
      throw UsageTrackingErrors.invalidTableName(name, null).sneakyThrow();
    }
    return List.copyOf(parts);
  }

  /** Returns the name of parts, with backticks only where a parser may require them. */
  static String name(List<String> parts) {
    return parts.stream()
        .map(part -> isPlain(part) ? part : QuotingUtils.quoteIdentifier(part))
        .collect(Collectors.joining("."));
  }

  private static boolean isPlain(String part) {
    // A session may reserve the words of SQL.
    return PLAIN.matcher(part).matches()
        && !RESERVED_BY_DELTA.contains(part.toUpperCase(Locale.ROOT))
        && !SQLConf.get().enforceReservedKeywords();
  }

  /** Returns the identifier of a table in the session catalog, by one or two parts. */
  static TableIdentifier inSession(List<String> parts) {
    Option<String> schema = parts.size() == 2 ? Option.apply(parts.get(0)) : Option.empty();
    return new TableIdentifier(parts.get(parts.size() - 1), schema);
  }

  /**
   * Returns the parts of a name in the text of a view, which belongs to the catalog and schema that
   * the view was created in.
   *
   * <p>Source: Spark 4.0 to 4.2, RelationResolution.scala, {@code expandIdentifier}.
   */
  static List<String> inView(SparkSession session, List<String> parts) {
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

  /** Returns whether a catalog has this name. Spark's own method moved between 4.1 and 4.2. */
  static boolean isCatalog(SparkSession session, String name) {
    return name.equalsIgnoreCase(SESSION_CATALOG)
        || session.conf().getOption(CATALOG + name).isDefined();
  }
}
