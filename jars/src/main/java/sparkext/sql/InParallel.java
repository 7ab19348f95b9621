// SPDX-License-Identifier: Apache-2.0
package sparkext.sql;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.BiFunction;
import org.apache.spark.SparkThrowable;
import org.apache.spark.sql.classic.SparkSession;
import sparkext.common.UsageTrackingErrors;
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
    // The stack may overflow by the schema of one table.
    return UsageTrackingErrors.causes(error)
        .anyMatch(
            each -> each instanceof VirtualMachineError && !(each instanceof StackOverflowError));
  }

  private static Thread daemon(Runnable task, String name) {
    Thread thread = new Thread(task, name);
    thread.setDaemon(true);
    return thread;
  }

  /**
   * The reason why a table could not be read.
   *
   * @param condition of the error or of its cause; the class of the error if there is none
   * @param message of the error or cause with the condition; the text of the error if there is none
   */
  record TableFailure(String condition, String message) {
    /** Some messages contain a plan or a stack trace. */
    private static final int MAX_LENGTH = 1_000;

    /** Returns the reason in an error. Throws the error if the query was cancelled. */
    static TableFailure of(Throwable error) {
      if (UsageTrackingErrors.isStop(error)) {
        throw UsageTrackingException.sneakyThrow(error);
      }
      // Delta's cache of logs wraps an Error in one of its own.
      Throwable found =
          error instanceof Error && error.getCause() instanceof Error cause ? cause : error;
      Throwable described = UsageTrackingErrors.described(found);
      return described instanceof SparkThrowable spark
          ? new TableFailure(spark.getCondition(), shortened(described.getMessage()))
          : new TableFailure(found.getClass().getName(), shortened(found.toString()));
    }

    private static String shortened(String text) {
      String message = String.valueOf(text); // some have none
      return message.length() <= MAX_LENGTH ? message : message.substring(0, MAX_LENGTH) + "..";
    }
  }
}
