// SPDX-License-Identifier: Apache-2.0
package sparkext.common;

import java.util.Map;

/**
 * The error USAGE_TRACKING_UNSUPPORTED_SPARK_VERSION for a Spark that cannot load {@link
 * UsageTrackingException}. The superclass of {@code UsageTrackingException} differs between
 * releases of Spark, so this class uses no class of Spark or Scala.
 */
public final class UnsupportedSparkException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private static final String CONDITION = "USAGE_TRACKING_UNSUPPORTED_SPARK_VERSION";

  private final transient Map<String, String> parameters;

  private UnsupportedSparkException(Map<String, String> parameters) {
    super(
        "[%s] %s SQLSTATE: %s"
            .formatted(
                CONDITION, Conditions.text(CONDITION, parameters), Conditions.sqlState(CONDITION)));
    this.parameters = parameters;
  }

  /** Returns the error for this Spark and Delta. */
  public static UnsupportedSparkException of(String spark, String delta) {
    return new UnsupportedSparkException(
        Conditions.parameters(CONDITION, spark, delta, Releases.SUPPORTED));
  }

  public String getCondition() {
    return CONDITION;
  }

  public String getSqlState() {
    return Conditions.sqlState(CONDITION);
  }

  public Map<String, String> getMessageParameters() {
    return parameters;
  }
}
