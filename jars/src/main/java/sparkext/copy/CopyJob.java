// SPDX-License-Identifier: Apache-2.0
package sparkext.copy;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.PriorityQueue;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorCompletionService;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
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
import org.apache.spark.util.LongAccumulator;
import org.apache.spark.util.SerializableConfiguration;
import sparkext.common.UsageTrackingException;
import sparkext.copy.FileCopy.CopyFailedException;
import sparkext.copy.FileRequest.FileResult;
import sparkext.parquet.ColumnPlan;
import sparkext.parquet.Renaming;
import sparkext.parquet.Storages;
import sparkext.parquet.Uninterrupted;
import sparkext.s3.S3Store;

/** The Spark job that reads footers of data files and copies the files that need a new footer. */
public final class CopyJob {
  /** The time to open a file, as the bytes that are copied in that time. */
  private static final long OPEN_COST = 4L << 20;

  /** The copies of this many files or bytes take much longer than the start of a task. */
  private static final int FILES_PER_TASK = 256;

  private static final long BYTES_PER_TASK = 256L << 20;

  /** The threads of a task if a store copies the files: a thread then only waits. */
  private static final int STORE_THREADS = 8;

  /** The time for executors to end the tasks of a job that was cancelled or failed. */
  private static final Duration END_TIMEOUT = Duration.ofSeconds(30);

  private final JavaSparkContext context;
  private final Configuration configuration;
  private final ColumnPlan plan;
  private final boolean byStores;
  private final CopyProgress progress;

  /**
   * Makes a job.
   *
   * @param byStores whether object stores copy ranges of files without a download
   */
  public CopyJob(
      SparkContext context,
      Configuration configuration,
      ColumnPlan plan,
      boolean byStores,
      CopyProgress progress) {
    this.context = JavaSparkContext.fromSparkContext(context);
    this.configuration = configuration;
    this.plan = plan;
    this.byStores = byStores;
    this.progress = progress;
  }

  /**
   * Runs the job. A task that fails or is killed removes the files that it has written. If the job
   * fails, the files of other tasks remain, and this waits up to 30 s for all tasks to end.
   *
   * @throws UsageTrackingException USAGE_TRACKING_COPY_FAILED if a task failed too often
   */
  public List<FileResult> run(List<FileRequest> requests) {
    if (requests.isEmpty()) {
      return List.of();
    }
    List<byte[]> tasks = tasks(requests).stream().map(Packed::of).toList();
    Task task = new Task(plan, new SerializableConfiguration(configuration), byStores, progress);
    List<FileResult> results = new ArrayList<>();
    for (byte[] packed :
        resultOf(context.parallelize(tasks, tasks.size()).map(task).collectAsync())) {
      results.addAll(Packed.unpack(packed));
    }
    return results;
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

  /** Waits until all tasks of a job have ended, or until the timeout. */
  private void await(JavaFutureAction<?> job) {
    long end = System.nanoTime() + END_TIMEOUT.toNanos();
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

  /** Distributes files to tasks of similar size: each file, by size, to the smallest task. */
  private List<List<FileRequest>> tasks(List<FileRequest> requests) {
    record Load(List<FileRequest> files, long cost) {}
    PriorityQueue<Load> loads = new PriorityQueue<>(Comparator.comparingLong(Load::cost));
    int count = count(requests);
    for (int i = 0; i < count; i++) {
      loads.add(new Load(new ArrayList<>(), 0));
    }
    List<FileRequest> largestFirst = new ArrayList<>(requests);
    largestFirst.sort(Comparator.comparingLong(FileRequest::size).reversed());
    for (FileRequest request : largestFirst) {
      Load least = loads.remove();
      least.files().add(request);
      loads.add(new Load(least.files(), least.cost() + cost(request)));
    }
    return loads.stream().map(Load::files).toList();
  }

  /** Returns the number of tasks: one for each core, or more if each has enough files or bytes. */
  private int count(List<FileRequest> requests) {
    long bytes = requests.stream().mapToLong(FileRequest::size).sum();
    long largeEnough = Math.max(bytes / BYTES_PER_TASK, requests.size() / FILES_PER_TASK);
    return (int) Math.min(requests.size(), Math.max(context.defaultParallelism(), largeEnough));
  }

  private static long cost(FileRequest request) {
    return request.size() + OPEN_COST;
  }

  /** Handles the requests of one task on an executor. */
  private record Task(
      ColumnPlan plan,
      SerializableConfiguration configuration,
      boolean byStores,
      CopyProgress progress)
      implements Function<byte[], byte[]> {
    @Override
    public byte[] call(byte[] packed) throws Exception {
      TaskContext task = TaskContext.get();
      Storages storages =
          new Storages(configuration.value(), byStores ? S3Store::of : null, Storages.SMALL);
      Queue<FileRequest> requests = new ConcurrentLinkedQueue<>(Packed.<FileRequest>unpack(packed));
      List<FileResult> results = new ArrayList<>();
      try {
        int threads = storages.canCopy(requests.element().path()) ? STORE_THREADS : 1;
        TaskThreads.run(
            Math.min(threads, requests.size()),
            task,
            () -> {
              Renaming renaming = new Renaming(plan);
              for (FileRequest request = requests.poll();
                  request != null;
                  request = requests.poll()) {
                task.killTaskIfInterrupted();
                FileResult result = new FileCopy(request, task, storages, renaming).run();
                synchronized (results) {
                  results.add(result);
                  progress.addFile(request.size());
                }
              }
            });
        task.killTaskIfInterrupted();
        return Packed.of(results);
      } catch (Throwable failure) {
        // The next attempt writes files with other names.
        synchronized (results) {
          FileCopy.remove(results, storages, failure);
        }
        throw failure;
      }
    }
  }

  /**
   * Serializes values to bytes with Java's serializer. An application may set Kryo as Spark's
   * serializer, which cannot serialize records.
   */
  static final class Packed {
    private Packed() {}

    static byte[] of(List<?> values) {
      ByteArrayOutputStream bytes = new ByteArrayOutputStream();
      try (ObjectOutputStream objects = new ObjectOutputStream(bytes)) {
        objects.writeObject(new ArrayList<>(values));
      } catch (IOException impossible) {
        throw new UncheckedIOException(impossible);
      }
      return bytes.toByteArray();
    }

    @SuppressWarnings("unchecked")
    static <T> List<T> unpack(byte[] bytes) {
      try (ObjectInputStream objects = new ObjectInputStream(new ByteArrayInputStream(bytes))) {
        return (List<T>) objects.readObject();
      } catch (IOException impossible) {
        throw new UncheckedIOException(impossible);
      } catch (ClassNotFoundException otherJar) {
        throw new IllegalStateException(otherJar);
      }
    }
  }

  /**
   * Runs the work of one task in several threads, because a thread waits for an object store most
   * of the time.
   *
   * <p>If the task is killed or a thread fails, this class interrupts all threads. Spark interrupts
   * only the thread of the task.
   */
  static final class TaskThreads {
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

  /**
   * Counts the files and bytes that a job has handled. Spark adds the counts of a task at its end.
   */
  public record CopyProgress(LongAccumulator numFiles, LongAccumulator sizeInBytes)
      implements Serializable {
    /** Returns the counts of a job that has not started. */
    public static CopyProgress in(SparkContext context) {
      return new CopyProgress(context.longAccumulator(), context.longAccumulator());
    }

    void addFile(long size) {
      numFiles.add(1L);
      sizeInBytes.add(size);
    }
  }
}
