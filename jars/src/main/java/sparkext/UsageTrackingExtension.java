// SPDX-License-Identifier: Apache-2.0
package sparkext;

import java.io.IOException;
import org.apache.spark.sql.SparkSessionExtensions;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;
import sparkext.check.DeltaConfiguration;
import sparkext.check.StatementCheck;
import sparkext.common.UsageTrackingErrors;
import sparkext.hook.DeltaHooks;
import sparkext.process.ProcessSettings;
import sparkext.release.DeltaBuild;
import sparkext.release.JarCopies;
import sparkext.release.SparkRelease;
import sparkext.release.Versions;
import sparkext.sql.TableFunction;
import sparkext.stale.StaleAggregate;

/**
 * Entry point of the plugin: {@code
 * spark.sql.extensions=io.delta.sql.DeltaSparkSessionExtension,sparkext.UsageTrackingExtension}.
 *
 * <p>The order of the two extensions does not matter. If any step fails, the session does not
 * start, because a session with only some of the hooks could write wrong metadata.
 */
public final class UsageTrackingExtension
    extends AbstractFunction1<SparkSessionExtensions, BoxedUnit> {

  @Override
  public BoxedUnit apply(SparkSessionExtensions extensions) {
    // This check comes first, because unsupported releases of Spark cannot load the classes below.
    SparkRelease.requireSupported();
    try {
      start(extensions);
    } catch (VirtualMachineError fatal) {
      throw fatal;
    } catch (Throwable failure) {
      throw startFailure(failure);
    }
    return BoxedUnit.UNIT;
  }

  /** Installs the hooks last, because they remain in the JVM even if the session cannot start. */
  private static void start(SparkSessionExtensions extensions) throws IOException {
    if (!isWanted()) {
      return;
    }
    DeltaConfiguration.requireExtension(UsageTrackingExtension.class.getName());
    ExecutorJars.complete();
    ProcessSettings.refuseInSessions();
    inject(extensions);
    DeltaHooks.install();
  }

  /** Adds the rules and the table functions to a session. */
  static void inject(SparkSessionExtensions extensions) {
    StatementCheck.inject(extensions);
    TableFunction.inject(extensions);
    StaleAggregate.inject(extensions);
  }

  /**
   * Returns whether the extension is needed: false if Delta itself has the feature.
   *
   * @throws sparkext.common.UsageTrackingException if the jars on the class path do not fit
   */
  static boolean isWanted() throws IOException {
    JarCopies.requireAlike();
    DeltaHooks.requireDelta();
    if (DeltaHooks.standAside()) {
      return false;
    }
    DeltaBuild.requireForThisSpark();
    return true;
  }

  /**
   * Returns the exception for a failed start. If an extension throws one of three types of errors,
   * Spark only logs a warning and continues without the extension. So each failure becomes a {@code
   * UsageTrackingException}.
   *
   * <p>Source: Spark 4.0 to 4.2, SparkSession.scala, {@code applyExtensions}.
   */
  private static RuntimeException startFailure(Throwable failure) {
    try {
      return UsageTrackingErrors.startFailed(Versions.delta(), failure).sneakyThrow();
    } catch (LinkageError unloadable) {
      // The class of the error cannot be loaded.
      return new IllegalStateException(
          "Cannot start "
              + UsageTrackingExtension.class.getName()
              + ": its classes do not fit this Spark. No session was started."
              + " Use releases of Spark and Delta that spark-ext supports.",
          failure);
    }
  }
}
