// SPDX-License-Identifier: Apache-2.0
package sparkext.files;

import java.util.Locale;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.delta.actions.Protocol;
import scala.Option;
import sparkext.error.UsageTrackingErrors;
import sparkext.feature.UsageTrackingFeature;

/** How a session wants files to be written anew, by a setting whose values are these. */
public enum CopySetting {
  /** Those of tracked tables as {@link #COPY}, all others as {@link #REWRITE}. */
  UNSET,
  /** By copies, and by Delta only where bytes cannot be copied. */
  COPY,
  /** By Delta, row by row. */
  REWRITE;

  /** The setting's value; null where it is not set. */
  public String value() {
    return this == UNSET ? null : name().toLowerCase(Locale.ROOT);
  }

  /**
   * What a session says.
   *
   * @throws sparkext.error.UsageTrackingException USAGE_TRACKING_INVALID_SETTING
   */
  public static CopySetting of(SparkSession session, String key) {
    Option<String> value = session.conf().getOption(key);
    if (value.isEmpty()) {
      return UNSET;
    }
    return switch (value.get().strip().toLowerCase(Locale.ROOT)) {
      case "copy" -> COPY;
      case "rewrite" -> REWRITE;
      default ->
          throw UsageTrackingErrors.invalidSetting(key, value.get(), "copy or rewrite")
              .sneakyThrow();
    };
  }

  /** Whether files of a table are copied. */
  public boolean copies(Protocol protocol) {
    return this == COPY || (this == UNSET && UsageTrackingFeature.isSupportedBy(protocol));
  }
}
