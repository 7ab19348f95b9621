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
 * Runs work of one task in several threads, which wait for a store most of the time. All end if the
 * task is killed or one thread fails: Spark interrupts only the thread of the task.
 */
final class TaskThreads {
  /** The interval in which a task checks whether it was killed. */
  private static final long CHECK_MILLIS = 100;

  /** The time for the threads to end. */
  private static final long END_TIMEOUT_SECONDS = 30;

  private TaskThreads() {}

  /** The work of each thread. */
  interface Work {
    void run() throws Exception;
  }

  /** Runs work in new threads and waits for all; in the task's own thread if the count is 1. */
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
      for (int left = count; left > 0; ) {
        Future<Void> one = ended.poll(CHECK_MILLIS, TimeUnit.MILLISECONDS);
        task.killTaskIfInterrupted();
        if (one != null) {
          one.get();
          left--;
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
