// SPDX-License-Identifier: Apache-2.0
package sparkext.files;

import java.util.Optional;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.delta.actions.Protocol;
import sparkext.common.Setting;
import sparkext.delta.UsageTrackingFeature;

/**
 * Chooses between copies and Delta's rewrite.
 *
 * <p>Java chooses, because the choice decides whether the rule process is asked at all. An
 * untracked table does not start that process unless the setting is {@code copy}.
 *
 * @param value {@code copy}, {@code rewrite}, or empty if the session does not set it
 */
public record CopySetting(Optional<String> value) {
  private static final Setting REMOVAL = new Setting("spark.sparkext.columnMapping.removal");
  private static final Setting PURGE = new Setting("spark.sparkext.columnMapping.purge");

  /** Reads the choice of a session for removals. Throws USAGE_TRACKING_INVALID_SETTING. */
  public static CopySetting ofRemoval(SparkSession session) {
    return new CopySetting(REMOVAL.of(session));
  }

  /** Reads the choice of a session for purges. Throws USAGE_TRACKING_INVALID_SETTING. */
  public static CopySetting ofPurge(SparkSession session) {
    return new CopySetting(PURGE.of(session));
  }

  /**
   * Returns whether the files of a table are copied: by the setting, or if there is none, for a
   * tracked table.
   */
  public boolean copies(Protocol protocol) {
    return value.map("copy"::equals).orElseGet(() -> UsageTrackingFeature.isSupportedBy(protocol));
  }
}
