// SPDX-License-Identifier: Apache-2.0
package sparkext.sql;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.BiFunction;
import org.apache.spark.sql.classic.SparkSession;
import sparkext.common.UsageTrackingException;

/**
 * Reads several tables at once. A table that cannot be read does not end the others.
 *
 * <p>The threads are new: they inherit the tags, job group and class loader of the caller's thread.
 * Cancelling the caller's jobs cancels theirs.
 */
final class InParallel {
  /** The threads wait for catalogs and stores most of the time. */
  private static final int THREADS = 16;

  private InParallel() {}

  /** Reads one item. */
  interface Reading<T, R> {
    R of(T item) throws Exception;
  }

  /**
   * Returns the result for each item, in order.
   *
   * @param failed returns the result for an item that cannot be read; its exceptions end the call
   */
  static <T, R> List<R> map(
      SparkSession session,
      List<T> items,
      Reading<T, R> reading,
      BiFunction<T, TableFailure, R> failed) {
    if (items.isEmpty()) {
      return List.of();
    }
    ExecutorService threads =
        Executors.newFixedThreadPool(
            Math.min(THREADS, items.size()), task -> daemon(task, "spark-ext-tables"));
    try {
      List<Future<R>> futures = new ArrayList<>();
      for (T item : items) {
        futures.add(threads.submit(() -> one(session, item, reading, failed)));
      }
      List<R> results = new ArrayList<>();
      for (Future<R> future : futures) {
        results.add(future.get());
      }
      return results;
    } catch (InterruptedException interrupted) {
      throw UsageTrackingException.sneakyThrow(interrupted);
    } catch (ExecutionException ended) {
      throw UsageTrackingException.sneakyThrow(ended.getCause());
    } finally {
      threads.shutdownNow();
    }
  }

  private static <T, R> R one(
      SparkSession session, T item, Reading<T, R> reading, BiFunction<T, TableFailure, R> failed) {
    SparkSession.setActiveSession(session);
    try {
      return reading.of(item);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      return failed.apply(item, TableFailure.of(interrupted));
    } catch (Throwable error) { // such as Delta's AssertionError, or a class that a storage lacks
      if (isOfJvm(error)) {
        throw UsageTrackingException.sneakyThrow(error);
      }
      return failed.apply(item, TableFailure.of(error));
    }
  }

  /** Returns whether the JVM itself has failed, so that nothing can be read. */
  private static boolean isOfJvm(Throwable error) {
    for (Throwable cause = error; cause != null; cause = cause.getCause()) {
      // The stack may overflow by the schema of one table.
      if (cause instanceof VirtualMachineError && !(cause instanceof StackOverflowError)) {
        return true;
      }
    }
    return false;
  }

  private static Thread daemon(Runnable task, String name) {
    Thread thread = new Thread(task, name);
    thread.setDaemon(true);
    return thread;
  }
}
