// SPDX-License-Identifier: Apache-2.0
package sparkext;

import java.io.IOException;
import org.apache.spark.sql.SparkSessionExtensions;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;
import sparkext.check.CheckedParser;
import sparkext.check.DeltaConfiguration;
import sparkext.check.StatementCheck;
import sparkext.error.UsageTrackingErrors;
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
 * <p>Its place before or after Delta's extension does not matter. Any failure ends the start of the
 * session: a session is woven whole or does not exist.
 */
public final class UsageTrackingExtension
    extends AbstractFunction1<SparkSessionExtensions, BoxedUnit> {

  @Override
  public BoxedUnit apply(SparkSessionExtensions extensions) {
    // Before any class that a Spark of another line cannot load.
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

  /** The hooks come last: they stay in the JVM, whatever becomes of this session. */
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

  /** What a session gets by Spark's own means. */
  static void inject(SparkSessionExtensions extensions) {
    CheckedParser.inject(extensions);
    StatementCheck.inject(extensions);
    TableFunction.inject(extensions);
    StaleAggregate.inject(extensions);
  }

  /** Refuses a class path that does not fit; false where Delta has the feature itself. */
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
   * The error of a start that failed. Spark goes on without an extension that ends with one of
   * three errors, a warning in its log, so none of them may reach it.
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
