// SPDX-License-Identifier: Apache-2.0
package sparkext.check;

import java.util.Arrays;
import java.util.List;
import org.apache.spark.SparkEnv;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import sparkext.error.UsageTrackingErrors;

/** Whether the session has Delta's own half of the configuration. */
public final class DeltaConfiguration {
  private static final String EXTENSIONS = "spark.sql.extensions";
  private static final String DELTA_EXTENSION = "io.delta.sql.DeltaSparkSessionExtension";
  private static final String CATALOG = "spark.sql.catalog.spark_catalog";

  /** What Spark says of a session catalog that nobody set. */
  private static final String BUILT_IN = "builtin";

  private DeltaConfiguration() {}

  /**
   * Refuses a session whose configuration names our extension without Delta's.
   *
   * @param ours the class name of our extension
   */
  public static void requireExtension(String ours) {
    SparkEnv env = SparkEnv.get();
    if (env == null) {
      return;
    }
    List<String> extensions =
        Arrays.stream(env.conf().get(EXTENSIONS, "").split(",")).map(String::trim).toList();
    // A session built with withExtensions(..) names neither of the two.
    boolean named = extensions.contains(ours);
    if (named && !extensions.contains(DELTA_EXTENSION)) {
      throw UsageTrackingErrors.deltaNotConfigured().sneakyThrow();
    }
  }

  /**
   * Refuses what concerns Delta tables in a session without a session catalog, be it Delta's or one
   * in front of it. Part of it would work, and part of it pass Delta by: Spark sets properties of
   * such a table in its own catalog alone.
   */
  static void requireCatalog(SparkSession session, LogicalPlan plan) {
    if (!session.conf().get(CATALOG, BUILT_IN).equalsIgnoreCase(BUILT_IN)) {
      return;
    }
    DeltaNode delta =
        new DeltaNode(
            ((org.apache.spark.sql.classic.SparkSession) session).sessionState().catalog());
    if (delta.isIn(plan)) {
      throw UsageTrackingErrors.deltaNotConfigured().sneakyThrow();
    }
  }
}
