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
import sparkext.error.UsageTrackingException;

/**
 * Looks at several tables at once, and goes on where one of them cannot be read.
 *
 * <p>The threads are new: Spark hands a thread's tags, job group and class loader to those that it
 * starts, so what cancels the caller's jobs cancels theirs.
 */
final class InParallel {
  /** They wait for catalogs and stores most of the time, and a driver has room for so many. */
  private static final int THREADS = 16;

  private InParallel() {}

  /** A look at one item. */
  interface Look<T, R> {
    R at(T item) throws Exception;
  }

  /**
   * What a look at each item gives, in order.
   *
   * @param failed what stands for an item that cannot be looked at; what it throws ends all
   */
  static <T, R> List<R> map(
      SparkSession session, List<T> items, Look<T, R> look, BiFunction<T, TableFailure, R> failed) {
    if (items.isEmpty()) {
      return List.of();
    }
    ExecutorService threads =
        Executors.newFixedThreadPool(
            Math.min(THREADS, items.size()), task -> daemon(task, "spark-ext-tables"));
    try {
      List<Future<R>> futures = new ArrayList<>();
      for (T item : items) {
        futures.add(threads.submit(() -> one(session, item, look, failed)));
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
      SparkSession session, T item, Look<T, R> look, BiFunction<T, TableFailure, R> failed) {
    SparkSession.setActiveSession(session);
    try {
      return look.at(item);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      return failed.apply(item, TableFailure.of(interrupted));
    } catch (Exception error) { // Scala declares no checked exception: Delta's are some
      return failed.apply(item, TableFailure.of(error));
    }
  }

  private static Thread daemon(Runnable task, String name) {
    Thread thread = new Thread(task, name);
    thread.setDaemon(true);
    return thread;
  }
}
