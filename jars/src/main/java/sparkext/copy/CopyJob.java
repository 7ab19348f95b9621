// SPDX-License-Identifier: Apache-2.0
package sparkext.copy;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.PriorityQueue;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.JobExecutionStatus;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkJobInfo;
import org.apache.spark.SparkStageInfo;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaFutureAction;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.api.java.JavaSparkStatusTracker;
import org.apache.spark.api.java.function.Function;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.util.SerializableConfiguration;
import sparkext.error.UsageTrackingException;
import sparkext.parquet.ColumnPlan;
import sparkext.parquet.Renaming;
import sparkext.parquet.Storages;

/** The Spark job that brings data files under other names, or only says what it would do. */
public final class CopyJob {
  /** What opening a file costs, in bytes that are copied in that time. */
  private static final long OPEN_COST = 4L << 20;

  /** So many files, or bytes, in a task that its own cost does not count. */
  private static final int FILES_PER_TASK = 256;

  private static final long BYTES_PER_TASK = 256L << 20;

  /** How many files a task has on their way where a store copies: then it does nothing but wait. */
  private static final int THREADS_OF_A_STORE = 8;

  /** For executors to end the tasks of a job that is over. */
  private static final Duration PATIENCE = Duration.ofSeconds(30);

  private final JavaSparkContext context;
  private final Broadcast<SerializableConfiguration> configuration;
  private final ColumnPlan plan;
  private final boolean byStores;
  private final CopyProgress progress;

  /**
   * A job on an application's executors.
   *
   * @param byStores whether stores copy by themselves what they can
   */
  public CopyJob(
      SparkContext context,
      Configuration configuration,
      ColumnPlan plan,
      boolean byStores,
      CopyProgress progress) {
    this.context = JavaSparkContext.fromSparkContext(context);
    this.configuration = this.context.broadcast(new SerializableConfiguration(configuration));
    this.plan = plan;
    this.byStores = byStores;
    this.progress = progress;
  }

  /**
   * Runs it. A task that fails or is killed removes all that it has written; the files of others
   * stay when the job fails. No task runs any more when this ends, whatever ended it, as long as
   * the executors obey.
   *
   * @throws UsageTrackingException USAGE_TRACKING_COPY_FAILED, once Spark has given the task up
   */
  public List<FileResult> run(List<Order> orders) {
    if (orders.isEmpty()) {
      return List.of();
    }
    try {
      List<byte[]> tasks = tasks(orders).stream().map(Packed::of).toList();
      List<FileResult> results = new ArrayList<>();
      for (byte[] packed :
          resultOf(
              context
                  .parallelize(tasks, tasks.size())
                  .map(new Task(plan, configuration, byStores, progress))
                  .collectAsync())) {
        results.addAll(Packed.unpack(packed));
      }
      return results;
    } finally {
      configuration.destroy();
    }
  }

  private <T> T resultOf(JavaFutureAction<T> job) {
    try {
      return job.get();
    } catch (ExecutionException failed) {
      await(job);
      throw UsageTrackingException.sneakyThrow(CopyFailedException.described(failed.getCause()));
    } catch (InterruptedException killed) {
      job.cancel(true);
      await(job);
      throw UsageTrackingException.sneakyThrow(killed);
    }
  }

  /** Waits until the executors have heard that a job is over, and its tasks have ended. */
  private void await(JavaFutureAction<?> job) {
    long end = System.nanoTime() + PATIENCE.toNanos();
    while (isRunning(job) && System.nanoTime() < end) {
      try {
        TimeUnit.MILLISECONDS.sleep(10);
      } catch (InterruptedException again) {
        Thread.currentThread().interrupt();
        return;
      }
    }
  }

  private boolean isRunning(JavaFutureAction<?> job) {
    JavaSparkStatusTracker tracker = context.statusTracker();
    for (int id : job.jobIds()) {
      SparkJobInfo info = tracker.getJobInfo(id);
      if (info == null) {
        continue;
      }
      if (info.status() == JobExecutionStatus.RUNNING) {
        return true;
      }
      for (int stage : info.stageIds()) {
        SparkStageInfo running = tracker.getStageInfo(stage);
        if (running != null && running.numActiveTasks() > 0) {
          return true;
        }
      }
    }
    return false;
  }

  /** Tasks of about the same size: the largest file goes first, and to the smallest task. */
  private List<List<Order>> tasks(List<Order> orders) {
    record Load(List<Order> files, long cost) {}
    PriorityQueue<Load> loads = new PriorityQueue<>(Comparator.comparingLong(Load::cost));
    int count = count(orders);
    for (int i = 0; i < count; i++) {
      loads.add(new Load(new ArrayList<>(), 0));
    }
    List<Order> largestFirst = new ArrayList<>(orders);
    largestFirst.sort(Comparator.comparingLong(Order::size).reversed());
    for (Order order : largestFirst) {
      Load least = loads.remove();
      least.files().add(order);
      loads.add(new Load(least.files(), least.cost() + cost(order)));
    }
    return loads.stream().map(Load::files).toList();
  }

  /** As many tasks as there are cores; more, if they are worth it. */
  private int count(List<Order> orders) {
    long bytes = orders.stream().mapToLong(Order::size).sum();
    long worthIt = Math.max(bytes / BYTES_PER_TASK, orders.size() / FILES_PER_TASK);
    return (int) Math.min(orders.size(), Math.max(context.defaultParallelism(), worthIt));
  }

  private static long cost(Order order) {
    return order.size() + OPEN_COST;
  }

  /** What an executor does with the files of one task. */
  private record Task(
      ColumnPlan plan,
      Broadcast<SerializableConfiguration> broadcast,
      boolean byStores,
      CopyProgress progress)
      implements Function<byte[], byte[]> {
    @Override
    public byte[] call(byte[] packed) throws Exception {
      TaskContext task = TaskContext.get();
      Storages storages = new Storages(broadcast.value().value(), byStores);
      Queue<Order> orders = new ConcurrentLinkedQueue<>(Packed.<Order>unpack(packed));
      List<FileResult> results = new ArrayList<>();
      try {
        int threads = storages.canCopy(orders.element().path()) ? THREADS_OF_A_STORE : 1;
        TaskThreads.run(
            Math.min(threads, orders.size()),
            task,
            () -> {
              Renaming renaming = new Renaming(plan);
              for (Order order = orders.poll(); order != null; order = orders.poll()) {
                task.killTaskIfInterrupted();
                FileResult result = new FileCopy(order, task, storages, renaming).run();
                synchronized (results) {
                  results.add(result);
                  progress.addFile(order.size());
                }
              }
            });
        task.killTaskIfInterrupted();
        return Packed.of(results);
      } catch (Throwable failure) {
        // Another attempt writes files of its own.
        synchronized (results) {
          FileCopy.remove(results, storages, failure);
        }
        throw failure;
      }
    }
  }
}
