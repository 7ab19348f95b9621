// SPDX-License-Identifier: Apache-2.0
package sparkext;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.SparkThrowable;
import org.apache.spark.sql.delta.DeltaErrors;
import scala.Option;

/** Every error that the JVM side raises by itself; the list of all errors is errors.py. */
public final class UsageTrackingErrors {
  /** The releases whose hooks were tried; named in the refusal of any other. */
  public static final String SUPPORTED_RELEASES = "4.4.0";

  /** With SQLSTATEs and templates as errors.py has them; tests/unit/test_errors.py compares. */
  private enum Condition {
    USAGE_TRACKING_RULES_UNAVAILABLE(
        "58000",
        "Cannot ask the rules of usage tracking: {reason}. Command: `{command}`, exit code:"
            + " {exitCode}, stderr: `{stderr}`. Nothing was written. Set"
            + " `spark.sparkext.worker.python` to a Python 3.10+ interpreter, or raise"
            + " `spark.sparkext.worker.timeout`."),
    USAGE_TRACKING_MALFORMED_MESSAGE(
        "XX000",
        "Cannot read a message between the jar and the rules of usage tracking: `{path}`"
            + " {problem}. Nothing was written. Check that spark-ext.jar and the Python package are"
            + " of one version."),
    USAGE_TRACKING_INVALID_SETTING(
        "22023",
        "Cannot use the setting `{setting}`: its value `{value}` is not {expected}. Set it to"
            + " one, or unset it."),
    USAGE_TRACKING_UNSUPPORTED_DELTA_VERSION(
        "0A000",
        "Cannot start column mapping usage tracking on delta-spark {version}: {mismatches}. Use"
            + " delta-spark {supported}, or remove sparkext.UsageTrackingExtension from"
            + " spark.sql.extensions."),
    USAGE_TRACKING_TABLE_LIKE_WITH_FEATURE(
        "0A000",
        "Cannot add the feature `{feature}` in CREATE TABLE LIKE: the new table takes over the"
            + " protocol of its source. Leave the property out, and track the new table by ALTER"
            + " TABLE .. SET TBLPROPERTIES.");

    private final String sqlState;
    private final String template;

    Condition(String sqlState, String template) {
      this.sqlState = sqlState;
      this.template = template;
    }

    /** The error with these values, each a name followed by its value. */
    private UsageTrackingException with(Throwable cause, String... namesAndValues) {
      Map<String, String> parameters = new LinkedHashMap<>();
      for (int i = 0; i < namesAndValues.length; i += 2) {
        parameters.put(namesAndValues[i], namesAndValues[i + 1]);
      }
      return new UsageTrackingException(name(), sqlState, parameters, text(parameters), cause);
    }

    /** In one pass: a value may have braces of its own. */
    private String text(Map<String, String> parameters) {
      return PLACEHOLDER
          .matcher(template)
          .replaceAll(found -> Matcher.quoteReplacement(parameters.get(found.group(1))));
    }
  }

  private static final Pattern PLACEHOLDER = Pattern.compile("\\{(\\w+)}");

  private UsageTrackingErrors() {}

  /** The rule process could not be started, ended, or did not answer in time. */
  public static UsageTrackingException rulesUnavailable(
      String reason, List<String> command, String exitCode, String stderr, Throwable cause) {
    return Condition.USAGE_TRACKING_RULES_UNAVAILABLE.with(
        cause,
        "reason",
        reason,
        "command",
        String.join(" ", command),
        "exitCode",
        exitCode,
        "stderr",
        stderr);
  }

  /** The rules answered something that is not an answer. */
  public static UsageTrackingException malformedAnswer(String problem, Throwable cause) {
    return Condition.USAGE_TRACKING_MALFORMED_MESSAGE.with(
        cause, "path", "answer", "problem", problem);
  }

  /** A setting of ours has a value that says nothing. */
  public static UsageTrackingException invalidSetting(
      String setting, String value, String expected) {
    return Condition.USAGE_TRACKING_INVALID_SETTING.with(
        null, "setting", setting, "value", value, "expected", expected);
  }

  /** This Delta is not one that the hooks fit. */
  public static UsageTrackingException unsupportedDeltaVersion(
      String version, List<String> mismatches, Throwable cause) {
    return Condition.USAGE_TRACKING_UNSUPPORTED_DELTA_VERSION.with(
        cause,
        "version",
        version,
        "supported",
        SUPPORTED_RELEASES,
        "mismatches",
        String.join("; ", mismatches));
  }

  /** CREATE TABLE LIKE asks for the feature, which Delta would drop. */
  public static UsageTrackingException featureOfTableLike() {
    return Condition.USAGE_TRACKING_TABLE_LIKE_WITH_FEATURE.with(
        null, "feature", UsageTrackingFeature.NAME);
  }

  /** Delta's refusal of a property that only the writer may set. */
  public static UsageTrackingException cannotModifyTableProperty(String property) {
    return ofDelta(DeltaErrors.cannotModifyTableProperty(property));
  }

  /** Delta's refusal of a session without its extension or catalog. */
  public static UsageTrackingException deltaNotConfigured() {
    return ofDelta(DeltaErrors.configureSparkSessionWithExtensionAndCatalog(Option.empty()));
  }

  private static <T extends Throwable & SparkThrowable> UsageTrackingException ofDelta(
      Throwable error) {
    @SuppressWarnings("unchecked")
    T described = (T) error;
    return UsageTrackingException.of(described);
  }
}
