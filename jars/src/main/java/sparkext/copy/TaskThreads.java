// SPDX-License-Identifier: Apache-2.0
package sparkext.copy;

import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorCompletionService;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.spark.TaskContext;
import sparkext.common.UsageTrackingException;
import sparkext.parquet.Uninterrupted;

/**
 * Runs the work of one task in several threads, because a thread waits for an object store most of
 * the time.
 *
 * <p>If the task is killed or a thread fails, this class interrupts all threads. Spark interrupts
 * only the thread of the task.
 */
final class TaskThreads {
  /** The interval between two checks whether the task was killed, in milliseconds. */
  private static final long CHECK_MILLIS = 100;

  /** The longest wait for interrupted threads, in seconds. */
  private static final long END_TIMEOUT_SECONDS = 30;

  private TaskThreads() {}

  /** The work that each thread runs. */
  interface Work {
    void run() throws Exception;
  }

  /**
   * Runs the work once in each of several new threads, and waits for all threads. If the count is
   * 1, runs the work in the task's own thread.
   */
  static void run(int count, TaskContext task, Work work) throws Exception {
    if (count == 1) {
      work.run();
      return;
    }
    ExecutorService threads = Executors.newFixedThreadPool(count, TaskThreads::daemon);
    try {
      ExecutorCompletionService<Void> ended = new ExecutorCompletionService<>(threads);
      for (int i = 0; i < count; i++) {
        ended.submit(
            () -> {
              work.run();
              return null;
            });
      }
      for (int running = count; running > 0; ) {
        Future<Void> result = ended.poll(CHECK_MILLIS, TimeUnit.MILLISECONDS);
        task.killTaskIfInterrupted();
        if (result != null) {
          result.get();
          running--;
        }
      }
    } catch (ExecutionException failed) {
      throw UsageTrackingException.sneakyThrow(failed.getCause());
    } finally {
      threads.shutdownNow();
      Uninterrupted.run(() -> threads.awaitTermination(END_TIMEOUT_SECONDS, TimeUnit.SECONDS));
    }
  }

  private static Thread daemon(Runnable work) {
    Thread thread = new Thread(work, "spark-ext-copies");
    thread.setDaemon(true);
    return thread;
  }
}
