// SPDX-License-Identifier: Apache-2.0
package sparkext.parquet;

/**
 * What has to be cleaned up by a thread that is to end: a task that is killed is interrupted as
 * well, and some storages then refuse all that it asks for.
 */
public final class Uninterrupted {
  private Uninterrupted() {}

  /** Work that may fail in one way. */
  public interface Work<E extends Exception> {
    void run() throws E;
  }

  /** Does the work, and leaves the thread interrupted where it was. */
  public static <E extends Exception> void run(Work<E> work) throws E {
    boolean interrupted = Thread.interrupted();
    try {
      work.run();
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
