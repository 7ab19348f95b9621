// SPDX-License-Identifier: Apache-2.0
package sparkext.files;

import java.util.Locale;
import org.apache.spark.sql.SparkSession;
import sparkext.error.UsageTrackingErrors;

/**
 * Whether object stores copy data files by themselves: {@code
 * spark.sparkext.columnMapping.removal.storeCopy}.
 */
final class StoreCopySetting {
  private static final String KEY = "spark.sparkext.columnMapping.removal.storeCopy";

  private StoreCopySetting() {}

  /**
   * What a session says.
   *
   * @throws sparkext.error.UsageTrackingException USAGE_TRACKING_INVALID_SETTING
   */
  static boolean isOn(SparkSession session) {
    String value = session.conf().get(KEY, "true");
    return switch (value.strip().toLowerCase(Locale.ROOT)) {
      case "true" -> true;
      case "false" -> false;
      default ->
          throw UsageTrackingErrors.invalidSetting(KEY, value, "true or false").sneakyThrow();
    };
  }
}
