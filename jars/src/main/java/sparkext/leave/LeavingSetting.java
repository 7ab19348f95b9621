// SPDX-License-Identifier: Apache-2.0
package sparkext.leave;

import java.util.Optional;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.delta.actions.Metadata;
import org.apache.spark.sql.delta.actions.Protocol;
import sparkext.files.CopySetting;
import sparkext.wire.Leaving;
import sparkext.wire.MetadataRules;

/**
 * How a session wants tables to leave column mapping: {@code spark.sparkext.columnMapping.removal}.
 */
public record LeavingSetting(CopySetting setting) {
  private static final String KEY = "spark.sparkext.columnMapping.removal";

  /**
   * What a session says.
   *
   * @throws sparkext.error.UsageTrackingException USAGE_TRACKING_INVALID_SETTING
   */
  public static LeavingSetting of(SparkSession session) {
    return new LeavingSetting(CopySetting.of(session, KEY));
  }

  /** Its value; null where it is not set. */
  public String value() {
    return setting.value();
  }

  /** How a table may leave column mapping; nothing where that is left to Delta. */
  Optional<Leaving> allowed(Protocol protocol, Metadata metadata) {
    if (!setting.copies(protocol)) {
      return Optional.empty();
    }
    Leaving leaving = MetadataRules.leaving(protocol, metadata);
    return leaving.isFree() || leaving.plan().isPresent() ? Optional.of(leaving) : Optional.empty();
  }
}
