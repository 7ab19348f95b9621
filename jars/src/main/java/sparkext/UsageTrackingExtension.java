// SPDX-License-Identifier: Apache-2.0
package sparkext;

import org.apache.spark.sql.SparkSessionExtensions;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;
import sparkext.hook.DeltaHooks;
import sparkext.python.WorkerSettings;
import sparkext.sql.DeltaConfiguration;
import sparkext.sql.StatementCheck;
import sparkext.sql.TableFunction;

/**
 * Entry point of the plugin: {@code
 * spark.sql.extensions=io.delta.sql.DeltaSparkSessionExtension,sparkext.UsageTrackingExtension}.
 *
 * <p>Its place before or after Delta's extension does not matter. Any failure ends the start of the
 * session: a session is woven whole or does not exist.
 */
public final class UsageTrackingExtension
    extends AbstractFunction1<SparkSessionExtensions, BoxedUnit> {

  @Override
  public BoxedUnit apply(SparkSessionExtensions extensions) {
    DeltaHooks.install();
    WorkerSettings.refuseInSessions();
    DeltaConfiguration.requireExtension(UsageTrackingExtension.class.getName());
    // The hint batch runs before resolution, so that statements are seen as the user wrote them:
    // after it, Delta has turned CREATE TABLE LIKE into a command with the source's properties.
    extensions.injectHintResolutionRule(StatementCheck::new);
    TableFunction.inject(extensions);
    return BoxedUnit.UNIT;
  }
}
