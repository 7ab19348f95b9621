// SPDX-License-Identifier: Apache-2.0
package sparkext.parquet;

/**
 * Cleans up in a thread that was interrupted. Spark interrupts a task that it kills, and some
 * storages refuse all calls of an interrupted thread.
 */
public final class Uninterrupted {
  private Uninterrupted() {}

  /** Work that throws one checked exception. */
  public interface Work<E extends Exception> {
    void run() throws E;
  }

  /** Does the work without the thread's interrupt, and sets the interrupt again afterwards. */
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
