// SPDX-License-Identifier: Apache-2.0
package sparkext;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.SparkThrowable;
import org.apache.spark.sql.delta.DeltaErrors;
import scala.Option;

/** Every error that the JVM side raises by itself; the list with its texts is errors.py. */
public final class UsageTrackingErrors {
  public static final String RULES_UNAVAILABLE = "USAGE_TRACKING_RULES_UNAVAILABLE";
  public static final String RULE_FAILED = "USAGE_TRACKING_RULE_FAILED";
  public static final String UNSUPPORTED_DELTA_VERSION = "USAGE_TRACKING_UNSUPPORTED_DELTA_VERSION";
  public static final String TABLE_LIKE_WITH_FEATURE = "USAGE_TRACKING_TABLE_LIKE_WITH_FEATURE";

  /** The releases whose hooks were tried; named in the refusal of any other. */
  public static final String SUPPORTED_RELEASES = "4.4.0";

  private UsageTrackingErrors() {}

  /** The rule process could not be started, ended, or did not answer in time. */
  public static UsageTrackingException rulesUnavailable(
      String reason, List<String> command, String exitCode, String stderr, Throwable cause) {
    Map<String, String> parameters = new LinkedHashMap<>();
    parameters.put("reason", reason);
    parameters.put("command", String.join(" ", command));
    parameters.put("exitCode", exitCode);
    parameters.put("stderr", stderr);
    return new UsageTrackingException(
        RULES_UNAVAILABLE,
        "58000",
        parameters,
        "Cannot decide the column names of a tracked table: "
            + reason
            + ". Command: `"
            + parameters.get("command")
            + "`, exit code: "
            + exitCode
            + ", stderr: `"
            + stderr
            + "`. Nothing was written. Set `spark.sparkext.worker.python` to a Python 3.10+"
            + " interpreter, or raise `spark.sparkext.worker.timeout`.",
        cause);
  }

  /** The rules answered something that is not an answer. */
  public static UsageTrackingException ruleFailed(String error, Throwable cause) {
    return new UsageTrackingException(
        RULE_FAILED,
        "XX000",
        Map.of("error", error),
        "Cannot decide the column names of a tracked table: " + error + ". Nothing was written.",
        cause);
  }

  /** This Delta is not one that the hooks fit. */
  public static UsageTrackingException unsupportedDeltaVersion(
      String version, List<String> mismatches, Throwable cause) {
    Map<String, String> parameters = new LinkedHashMap<>();
    parameters.put("version", version);
    parameters.put("supported", SUPPORTED_RELEASES);
    parameters.put("mismatches", String.join("; ", mismatches));
    return new UsageTrackingException(
        UNSUPPORTED_DELTA_VERSION,
        "0A000",
        parameters,
        "Cannot start column mapping usage tracking on delta-spark "
            + version
            + ": "
            + parameters.get("mismatches")
            + ". Use delta-spark "
            + SUPPORTED_RELEASES
            + ", or remove sparkext.UsageTrackingExtension from spark.sql.extensions.",
        cause);
  }

  /** CREATE TABLE LIKE asks for the feature, which Delta would drop. */
  public static UsageTrackingException featureOfTableLike() {
    return new UsageTrackingException(
        TABLE_LIKE_WITH_FEATURE,
        "0A000",
        Map.of("feature", UsageTrackingFeature.NAME),
        "Cannot add the feature `"
            + UsageTrackingFeature.NAME
            + "` in CREATE TABLE LIKE: the new table takes over the protocol of its source."
            + " Leave the property out, and track the new table by ALTER TABLE .. SET TBLPROPERTIES.",
        null);
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
