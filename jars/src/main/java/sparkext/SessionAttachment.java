// SPDX-License-Identifier: Apache-2.0
package sparkext;

import java.io.IOException;
import org.apache.spark.sql.classic.SparkSession;
import sparkext.error.UsageTrackingException;
import sparkext.hook.DeltaHooks;
import sparkext.process.ProcessSettings;

/** The other entry point: for a session that runs already, {@code spark_ext/launch/attach.py}. */
public final class SessionAttachment {
  private SessionAttachment() {}

  /**
   * Gives a session what {@link UsageTrackingExtension} gives one at its start; does nothing where
   * it has that.
   *
   * @throws UsageTrackingException as the start of a session, and
   *     USAGE_TRACKING_SESSION_NOT_ATTACHABLE; the session is as it was then
   */
  public static synchronized void attach(SparkSession session)
      throws UsageTrackingException, IOException {
    if (!UsageTrackingExtension.isWanted()) {
      return;
    }
    RunningSession running = new RunningSession(session);
    if (running.isWhole()) {
      return;
    }
    ProcessSettings.refuseInSessions();
    DeltaHooks.install();
    running.complete(UsageTrackingExtension::inject);
  }
}
