// SPDX-License-Identifier: Apache-2.0
package sparkext.sql;

import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.analysis.AnalysisContext;
import org.apache.spark.sql.catalyst.parser.CatalystSqlParser$;
import org.apache.spark.sql.catalyst.parser.ParseException;
import org.apache.spark.sql.catalyst.util.QuotingUtils;
import org.apache.spark.sql.classic.SparkSession;
import scala.jdk.javaapi.CollectionConverters;
import sparkext.error.UsageTrackingErrors;
import sparkext.error.UsageTrackingException;

/** The parts of a name, which is not read as SQL text: no variable in it is substituted. */
final class NameParts {
  static final String DELTA = "delta";
  static final String SESSION_CATALOG = "spark_catalog";
  private static final String CATALOG = "spark.sql.catalog.";

  /** More than any catalog or file system takes; Spark reads longer ones in quadratic time. */
  private static final int MAX_LENGTH = 32_768;

  /** Of other words, such as {@code 1d}, the parser makes something else than a name. */
  private static final Pattern PLAIN = Pattern.compile("[A-Za-z_][A-Za-z_0-9]*");

  private NameParts() {}

  /**
   * The parts of a name.
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
    } catch (Exception unreadable) { // Scala declares no checked exception: ParseException is one
      throw unreadable instanceof ParseException
          ? UsageTrackingErrors.invalidTableName(name, unreadable).sneakyThrow()
          : UsageTrackingException.sneakyThrow(unreadable);
    }
    if (parts.contains("")) {
      throw UsageTrackingErrors.invalidTableName(name, null).sneakyThrow();
    }
    return List.copyOf(parts);
  }

  /** The name that has these parts, with backticks where the parser wants them. */
  static String name(List<String> parts) {
    return parts.stream()
        .map(part -> PLAIN.matcher(part).matches() ? part : QuotingUtils.quoteIdentifier(part))
        .collect(Collectors.joining("."));
  }

  /**
   * A name in the text of a view means the tables of the catalog and schema that the view was
   * created in.
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

  /** Spark's own method for it is one of a class in 4.0 and 4.1, and of an interface in 4.2. */
  static boolean isCatalog(SparkSession session, String name) {
    return name.equalsIgnoreCase(SESSION_CATALOG)
        || session.conf().getOption(CATALOG + name).isDefined();
  }
}
