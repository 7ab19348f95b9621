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

  private final transient Conditions.Error error;

  private UnsupportedSparkException(Conditions.Error error) {
    super(error.message());
    this.error = error;
  }

  /** Returns the error for this Spark and Delta. */
  public static UnsupportedSparkException of(String spark, String delta) {
    return new UnsupportedSparkException(
        Conditions.error("USAGE_TRACKING_UNSUPPORTED_SPARK_VERSION")
            .with("spark", spark)
            .with("delta", delta)
            .with("supported", Releases.SUPPORTED));
  }

  public String getCondition() {
    return error.condition();
  }

  public String getSqlState() {
    return error.sqlState();
  }

  public Map<String, String> getMessageParameters() {
    return error.parameters();
  }
}
