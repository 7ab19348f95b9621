// SPDX-License-Identifier: Apache-2.0
package sparkext.removal;

import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.spark.sql.delta.actions.Action$;

/**
 * Prepares the first commit of a JVM while files are copied. Every commit needs the schema of
 * Delta's actions for its checksum, and Delta takes up to half a second to make the schema once.
 *
 * <p>Source: Delta 4.4.0, actions.scala, {@code Action.logSchema}; Checksum.scala, {@code
 * incrementallyDeriveChecksum}.
 */
final class FirstCommit {
  private static final AtomicBoolean IS_PREPARED = new AtomicBoolean();

  private FirstCommit() {}

  /** Starts the preparation at the first call. The commit reports any failure of it. */
  static void prepare() {
    if (IS_PREPARED.compareAndSet(false, true)) {
      Thread thread = new Thread(Action$.MODULE$::logSchema, "spark-ext-first-commit");
      thread.setDaemon(true);
      thread.start();
    }
  }
}
