// SPDX-License-Identifier: Apache-2.0
package sparkext.removal;

import java.util.Optional;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.delta.actions.Metadata;
import org.apache.spark.sql.delta.actions.Protocol;
import sparkext.files.CopySetting;
import sparkext.wire.MetadataRules;
import sparkext.wire.Removal;

/**
 * How a session wants tables to remove column mapping: {@code
 * spark.sparkext.columnMapping.removal}.
 */
public record RemovalSetting(CopySetting setting) {
  private static final String KEY = "spark.sparkext.columnMapping.removal";

  /**
   * What a session says.
   *
   * @throws sparkext.error.UsageTrackingException USAGE_TRACKING_INVALID_SETTING
   */
  public static RemovalSetting of(SparkSession session) {
    return new RemovalSetting(CopySetting.of(session, KEY));
  }

  /** Its value; null where it is not set. */
  public String value() {
    return setting.value();
  }

  /** How a table may remove column mapping; nothing where that is left to Delta. */
  Optional<Removal> allowed(Protocol protocol, Metadata metadata) {
    if (!setting.copies(protocol)) {
      return Optional.empty();
    }
    Removal removal = MetadataRules.removal(protocol, metadata);
    return removal.isFree() || removal.plan().isPresent() ? Optional.of(removal) : Optional.empty();
  }
}
