// SPDX-License-Identifier: Apache-2.0
package sparkext;

import java.io.IOException;
import org.apache.spark.sql.classic.SparkSession;
import sparkext.common.UsageTrackingException;
import sparkext.hook.DeltaHooks;
import sparkext.process.ProcessSettings;

/** The entry point for a running session, which {@code spark_ext/launch/attach.py} calls. */
public final class SessionAttachment {
  private SessionAttachment() {}

  /**
   * Gives a session what {@link UsageTrackingExtension} gives a session at its start. Does nothing
   * if the session has it.
   *
   * @throws UsageTrackingException USAGE_TRACKING_SESSION_NOT_ATTACHABLE, and the errors of a
   *     start; the session is unchanged then
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
