// SPDX-License-Identifier: Apache-2.0
package sparkext;

import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.classic.SparkSession;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;
import sparkext.error.UsageTrackingErrors;
import sparkext.error.UsageTrackingException;
import sparkext.hook.DeltaHooks;
import sparkext.python.WorkerSettings;
import sparkext.sql.DeltaConfiguration;
import sparkext.sql.RunningSession;
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
    try {
      start(extensions);
    } catch (VirtualMachineError fatal) {
      throw fatal;
    } catch (Throwable failure) {
      throw ending(failure);
    }
    return BoxedUnit.UNIT;
  }

  /**
   * Gives a session that runs already what the extension gives one at its start; does nothing where
   * it has that.
   *
   * <p>Called by {@code spark_ext/api/attach.py}, which has put the jar on the class path.
   *
   * @throws UsageTrackingException as the start of a session, and
   *     USAGE_TRACKING_SESSION_NOT_ATTACHABLE; the session is as it was then
   */
  public static synchronized void attach(SparkSession session) throws UsageTrackingException {
    RunningSession running = new RunningSession(session);
    if (running.isWhole()) {
      return;
    }
    WorkerSettings.refuseInSessions();
    DeltaHooks.install();
    running.complete();
  }

  /** The hooks come last: they stay in the JVM, whatever becomes of this session. */
  private static void start(SparkSessionExtensions extensions) {
    DeltaHooks.requireDelta();
    DeltaConfiguration.requireExtension(UsageTrackingExtension.class.getName());
    WorkerSettings.refuseInSessions();
    StatementCheck.inject(extensions);
    TableFunction.inject(extensions);
    DeltaHooks.install();
  }

  /**
   * The error of a start that failed. Spark goes on without an extension that ends with one of
   * three errors, a warning in its log, so none of them may reach it.
   *
   * <p>Source: Spark 4.0 to 4.2, SparkSession.scala, {@code applyExtensions}.
   */
  private static RuntimeException ending(Throwable failure) {
    try {
      return UsageTrackingErrors.startFailed(DeltaHooks.deltaVersion(), failure).sneak();
    } catch (LinkageError noErrors) {
      return new IllegalStateException("Cannot start " + UsageTrackingExtension.class, failure);
    }
  }
}
