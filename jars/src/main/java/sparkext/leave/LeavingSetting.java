// SPDX-License-Identifier: Apache-2.0
package sparkext.leave;

import java.util.Locale;
import java.util.Optional;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.delta.actions.Metadata;
import org.apache.spark.sql.delta.actions.Protocol;
import scala.Option;
import sparkext.error.UsageTrackingErrors;
import sparkext.feature.UsageTrackingFeature;
import sparkext.wire.Leaving;
import sparkext.wire.MetadataRules;

/**
 * How a session wants tables to leave column mapping: {@code spark.sparkext.columnMapping.removal}.
 */
public enum LeavingSetting {
  /** Tracked tables as {@link #COPY}, all others as {@link #REWRITE}. */
  UNSET,
  /** With files copied, and rewritten only where bytes cannot be copied. */
  COPY,
  /** By Delta, which rewrites all files. */
  REWRITE;

  private static final String KEY = "spark.sparkext.columnMapping.removal";

  /** The setting's value; null where it is not set. */
  public String value() {
    return this == UNSET ? null : name().toLowerCase(Locale.ROOT);
  }

  /**
   * What a session says.
   *
   * @throws sparkext.error.UsageTrackingException USAGE_TRACKING_INVALID_SETTING
   */
  public static LeavingSetting of(SparkSession session) {
    Option<String> value = session.conf().getOption(KEY);
    if (value.isEmpty()) {
      return UNSET;
    }
    return switch (value.get().strip().toLowerCase(Locale.ROOT)) {
      case "copy" -> COPY;
      case "rewrite" -> REWRITE;
      default ->
          throw UsageTrackingErrors.invalidSetting(KEY, value.get(), "copy or rewrite").sneak();
    };
  }

  /** How a table may leave column mapping; nothing where that is left to Delta. */
  Optional<Leaving> allowed(Protocol protocol, Metadata metadata) {
    boolean isTracked = UsageTrackingFeature.isSupportedBy(protocol);
    if (this == REWRITE || (this == UNSET && !isTracked)) {
      return Optional.empty();
    }
    Leaving leaving = MetadataRules.leaving(protocol, metadata);
    return leaving.isFree() || leaving.plan().isPresent() ? Optional.of(leaving) : Optional.empty();
  }
}
