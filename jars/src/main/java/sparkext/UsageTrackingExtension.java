// SPDX-License-Identifier: Apache-2.0
package sparkext;

import java.io.IOException;
import org.apache.spark.sql.SparkSessionExtensions;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;
import sparkext.check.CheckedParser;
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
 * <p>The order of the two extensions does not matter. Any failure ends the start of the session: no
 * session is half woven.
 */
public final class UsageTrackingExtension
    extends AbstractFunction1<SparkSessionExtensions, BoxedUnit> {

  @Override
  public BoxedUnit apply(SparkSessionExtensions extensions) {
    // First, because other releases of Spark cannot load the classes below.
    SparkRelease.requireSupported();
    try {
      start(extensions);
    } catch (VirtualMachineError fatal) {
      throw fatal;
    } catch (Throwable failure) {
      throw ending(failure);
    }
    return BoxedUnit.UNIT;
  }

  /** Installs the hooks last, because they remain in the JVM if the session ends. */
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

  /** Adds the parser, the rules and the table functions to a session. */
  static void inject(SparkSessionExtensions extensions) {
    CheckedParser.inject(extensions);
    StatementCheck.inject(extensions);
    TableFunction.inject(extensions);
    StaleAggregate.inject(extensions);
  }

  /** Throws if the class path does not fit. Returns false if Delta has the feature itself. */
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
   * Returns the error of a failed start. For three types of errors Spark only logs a warning and
   * continues without the extension, so these types are wrapped.
   *
   * <p>Source: Spark 4.0 to 4.2, SparkSession.scala, {@code applyExtensions}.
   */
  private static RuntimeException ending(Throwable failure) {
    try {
      return UsageTrackingErrors.startFailed(Versions.delta(), failure).sneakyThrow();
    } catch (LinkageError noErrors) {
      return new IllegalStateException("Cannot start " + UsageTrackingExtension.class, failure);
    }
  }
}
