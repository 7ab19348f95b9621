// SPDX-License-Identifier: Apache-2.0
package sparkext.common;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.channels.ClosedByInterruptException;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.apache.spark.SparkThrowable;
import org.apache.spark.sql.delta.DeltaErrors;
import org.apache.spark.sql.delta.DeltaTableIdentifier;
import scala.Option;

/** The errors that Java raises. {@code spark_ext/conditions.json} has the texts of all errors. */
public final class UsageTrackingErrors {
  private UsageTrackingErrors() {}

  /** The rule process did not start, exited, or did not answer in time. */
  public static UsageTrackingException rulesUnavailable(
      String reason, List<String> command, String exitCode, String stderr, Throwable cause) {
    return Conditions.error(
        "USAGE_TRACKING_RULES_UNAVAILABLE",
        cause,
        reason,
        String.join(" ", command),
        exitCode,
        stderr);
  }

  /** The rule process sent an answer that cannot be read. */
  public static UsageTrackingException malformedAnswer(String problem, Throwable cause) {
    return Conditions.error("USAGE_TRACKING_MALFORMED_MESSAGE", cause, "answer", problem);
  }

  /** A setting has an invalid value. */
  public static UsageTrackingException invalidSetting(
      String setting, String value, String expected) {
    return Conditions.error("USAGE_TRACKING_INVALID_SETTING", null, setting, value, expected);
  }

  /** A data file or a deletion vector of a table is missing or damaged. */
  public static UsageTrackingException unreadableDataFile(
      String path, String reason, Throwable cause) {
    return Conditions.error("USAGE_TRACKING_UNREADABLE_DATA_FILE", cause, path, reason);
  }

  /** Other writers kept changing a table until the timeout of its removal. */
  public static UsageTrackingException removalConflict(
      String timeout, int rounds, int attempts, long version, String operation, Throwable cause) {
    return Conditions.error(
        "USAGE_TRACKING_REMOVAL_CONFLICT", cause, timeout, rounds, attempts, version, operation);
  }

  /** A data file of a table could not be copied. */
  public static UsageTrackingException copyFailed(
      String source, String target, String reason, Throwable cause) {
    return Conditions.error("USAGE_TRACKING_COPY_FAILED", cause, source, target, reason);
  }

  /** The storage of a table failed while column mapping was removed. */
  public static UsageTrackingException storageFailed(String table, IOException cause) {
    return Conditions.error("USAGE_TRACKING_STORAGE_FAILED", cause, table, cause);
  }

  /** The commit that removes column mapping may or may not have been written. */
  public static UsageTrackingException commitUnknown(String table, long version, Throwable cause) {
    return Conditions.error("USAGE_TRACKING_COMMIT_STATUS_UNKNOWN", cause, table, cause, version);
  }

  /**
   * Returns USAGE_TRACKING_FAILED_AFTER_COMMIT, or the failure itself if it is Delta's error for
   * the same situation.
   *
   * @param operation the operation in the history of the table
   */
  public static Throwable failedAfterCommit(
      String operation, String table, long version, Throwable failure) {
    return failure instanceof SparkThrowable known
            && "DELTA_POST_COMMIT_HOOK_FAILED".equals(known.getCondition())
        ? failure
        : Conditions.error(
            "USAGE_TRACKING_FAILED_AFTER_COMMIT", failure, operation, table, version, failure);
  }

  /** A running stream has the physical names of a version before column mapping was removed. */
  public static UsageTrackingException streamRestartRequired(
      String table, long version, long start) {
    return Conditions.error("USAGE_TRACKING_STREAM_RESTART_REQUIRED", null, table, start, version);
  }

  /** A file of a table's log cannot be read. */
  public static UsageTrackingException unreadableLog(String path, String reason) {
    return Conditions.error("USAGE_TRACKING_UNREADABLE_LOG", null, path, reason);
  }

  /** The hooks do not match this Delta. */
  public static UsageTrackingException unsupportedDeltaVersion(
      String version, List<String> mismatches, Throwable cause) {
    return Conditions.error(
        "USAGE_TRACKING_UNSUPPORTED_DELTA_VERSION",
        cause,
        version,
        String.join("; ", mismatches),
        String.join(", ", Releases.DELTAS));
  }

  /** This Delta was built for another Spark. */
  public static UsageTrackingException unsupportedSparkVersion(String spark, String delta) {
    return Conditions.error(
        "USAGE_TRACKING_UNSUPPORTED_SPARK_VERSION", null, spark, delta, Releases.SUPPORTED);
  }

  /** The class path has several jars of spark-ext with different content. */
  public static UsageTrackingException severalJars(List<String> jars) {
    return Conditions.error("USAGE_TRACKING_SEVERAL_JARS", null, String.join(", ", jars));
  }

  /** The start of a session failed. A {@link UsageTrackingException} is returned unchanged. */
  public static UsageTrackingException startFailed(String version, Throwable failure) {
    return failure instanceof UsageTrackingException refused
        ? refused
        : unsupportedDeltaVersion(version, List.of(failure.toString()), failure);
  }

  /** A class of Delta is loaded already, and this JVM cannot redefine classes. */
  public static UsageTrackingException deltaAlreadyLoaded(String type, Throwable cause) {
    return Conditions.error("USAGE_TRACKING_DELTA_ALREADY_LOADED", cause, type, cause.getMessage());
  }

  /** A running session cannot be attached. */
  public static UsageTrackingException sessionNotAttachable(String reason, Throwable cause) {
    return Conditions.error("USAGE_TRACKING_SESSION_NOT_ATTACHABLE", cause, reason);
  }

  /** CREATE TABLE LIKE names the feature, which Delta would drop. */
  public static UsageTrackingException featureOfTableLike(String feature) {
    return Conditions.error("USAGE_TRACKING_TABLE_LIKE_WITH_FEATURE", null, feature);
  }

  /** A text is not the name of a table. */
  public static UsageTrackingException invalidTableName(String name, Throwable cause) {
    return Conditions.error("USAGE_TRACKING_INVALID_TABLE_NAME", cause, name);
  }

  /** A text is not the name of a catalog or a schema. */
  public static UsageTrackingException invalidSchemaName(String name, Throwable cause) {
    return Conditions.error("USAGE_TRACKING_INVALID_SCHEMA_NAME", cause, name);
  }

  /** A name means two tables. */
  public static UsageTrackingException ambiguousTableName(String name, String one, String other) {
    return Conditions.error("USAGE_TRACKING_AMBIGUOUS_TABLE_NAME", null, name, one, other);
  }

  /** The session finds a table by a connector whose tables cannot be changed. */
  public static UsageTrackingException kernelTable(String table, String setting, String value) {
    return Conditions.error("USAGE_TRACKING_KERNEL_TABLE", null, table, setting, value);
  }

  /**
   * A table function failed. The error has the condition of the failure or of its cause, or our
   * condition if none has one.
   */
  public static UsageTrackingException ofFunction(String function, Throwable error) {
    Throwable described = described(error);
    if (described instanceof UsageTrackingException refused) {
      return refused;
    }
    return described == null
        ? Conditions.error("USAGE_TRACKING_TABLE_FUNCTION_FAILED", error, function, error)
        : ofDelta(described, error);
  }

  /** Returns the first of an error and its causes that has a condition, or null. */
  public static Throwable described(Throwable error) {
    return causes(error)
        .filter(cause -> cause instanceof SparkThrowable spark && spark.getCondition() != null)
        .findFirst()
        .orElse(null);
  }

  /** Returns an error and its causes. */
  public static Stream<Throwable> causes(Throwable error) {
    return Stream.iterate(error, Objects::nonNull, Throwable::getCause);
  }

  /** Returns whether a statement was cancelled, which is no failure of a table or a file. */
  public static boolean isStop(Throwable error) {
    return causes(error)
        .anyMatch(
            cause ->
                cause instanceof InterruptedException
                    // Its subclasses are timeouts of a socket or of a pool of connections.
                    || cause.getClass() == InterruptedIOException.class
                    || cause instanceof ClosedByInterruptException
                    || (cause instanceof SparkThrowable spark
                        && "SPARK_JOB_CANCELLED".equals(spark.getCondition())));
  }

  /** Delta's error: a table is not a Delta table. */
  public static UsageTrackingException missingDeltaTable(DeltaTableIdentifier missing) {
    return ofDelta(DeltaErrors.notADeltaTableException(missing));
  }

  /** Delta's error: only the writer may set a property. */
  public static UsageTrackingException cannotModifyTableProperty(String property) {
    return ofDelta(DeltaErrors.cannotModifyTableProperty(property));
  }

  /** Delta's error: a session lacks Delta's extension or catalog. */
  public static UsageTrackingException deltaNotConfigured() {
    return ofDelta(DeltaErrors.configureSparkSessionWithExtensionAndCatalog(Option.empty()));
  }

  private static UsageTrackingException ofDelta(Throwable error) {
    return ofDelta(error, error);
  }

  private static <T extends Throwable & SparkThrowable> UsageTrackingException ofDelta(
      Throwable error, Throwable cause) {
    @SuppressWarnings("unchecked")
    T described = (T) error;
    return UsageTrackingException.of(described, cause);
  }
}
