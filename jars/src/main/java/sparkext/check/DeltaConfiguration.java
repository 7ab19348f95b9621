// SPDX-License-Identifier: Apache-2.0
package sparkext.check;

import java.util.Arrays;
import java.util.List;
import org.apache.spark.SparkEnv;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import sparkext.common.UsageTrackingErrors;

/** Checks that a session has Delta's extension, and a session catalog other than Spark's own. */
public final class DeltaConfiguration {
  private static final String EXTENSIONS = "spark.sql.extensions";
  private static final String DELTA_EXTENSION = "io.delta.sql.DeltaSparkSessionExtension";
  private static final String CATALOG = "spark.sql.catalog.spark_catalog";

  /** Spark's default for the session catalog. */
  private static final String BUILT_IN = "builtin";

  private DeltaConfiguration() {}

  /**
   * Throws if the configuration of a session names our extension and not Delta's.
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
    // The configuration of a session built with withExtensions(..) names neither extension.
    boolean named = extensions.contains(ours);
    if (named && !extensions.contains(DELTA_EXTENSION)) {
      throw UsageTrackingErrors.deltaNotConfigured().sneakyThrow();
    }
  }

  /**
   * Throws if a plan uses Delta tables and the session catalog is Spark's own. Some statements
   * would work and others bypass Delta: Spark sets properties of such a table in its own catalog
   * only.
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
