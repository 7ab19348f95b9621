// SPDX-License-Identifier: Apache-2.0
package sparkext.removal;

import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.delta.OptimisticTransaction;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.commands.Bin;
import org.apache.spark.sql.delta.commands.DeltaOptimizeContext;
import org.apache.spark.sql.delta.commands.DeltaPurgeOperation;
import scala.Function1;
import scala.Tuple2;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import sparkext.common.JobNames;
import sparkext.common.UsageTrackingException;

/**
 * Has Delta's REORG TABLE .. APPLY (PURGE) commit byte copies of files that contain dropped
 * columns. Delta still finds the files, commits them, counts them, and rewrites files with deletion
 * vectors.
 *
 * <p>{@code spark_ext/removal/copy_plan.py} decides which columns are kept.
 *
 * <p>Source: Delta 4.4.0, OptimizeTableCommand.scala, {@code OptimizeExecutor}.
 */
public final class PurgeCommand {
  /** The running purges, by Delta's executor of the statement. */
  private static final Map<Object, Purge> RUNNING =
      Collections.synchronizedMap(new IdentityHashMap<>());

  private PurgeCommand() {}

  /**
   * Copies the files that can be copied, and reads the deletion vectors of the others.
   *
   * @param executor an {@code OptimizeExecutor}, its session, snapshot, catalog table and context
   * @param partitions the files to rewrite, by their partition values
   * @return the files that Delta must rewrite, in the same form
   * @throws UsageTrackingException USAGE_TRACKING_UNREADABLE_DATA_FILE; USAGE_TRACKING_COPY_FAILED;
   *     USAGE_TRACKING_INVALID_SETTING; a failure of the rules; the statement fails with it
   */
  @SuppressWarnings("unchecked")
  public static Object begin(Object[] executor, Object partitions) {
    if (!isPurge((DeltaOptimizeContext) executor[4])) {
      return partitions;
    }
    Seq<Tuple2<Object, Seq<AddFile>>> all = (Seq<Tuple2<Object, Seq<AddFile>>>) partitions;
    Set<String> paths =
        CollectionConverters.asJava(all).stream()
            .flatMap(partition -> CollectionConverters.asJava(partition._2()).stream())
            .map(AddFile::path)
            .collect(Collectors.toSet());
    Optional<Purge> purge = paths.isEmpty() ? Optional.empty() : Purge.of(executor);
    if (purge.isEmpty()) {
      return partitions;
    }
    JobNames.ofStatement(
        ((SparkSession) executor[1]).sparkContext(),
        () -> {
          purge.get().copy(paths);
          return null;
        });
    if (purge.get().hasNoCopies()) {
      return partitions;
    }
    RUNNING.put(executor[0], purge.get());
    List<Bin> groups = new ArrayList<>();
    List<Tuple2<Object, Seq<AddFile>>> left = new ArrayList<>();
    for (Tuple2<Object, Seq<AddFile>> partition : CollectionConverters.asJava(all)) {
      var values = (scala.collection.immutable.Map<String, String>) partition._1();
      Map<Boolean, List<AddFile>> files =
          CollectionConverters.asJava(partition._2()).stream()
              .collect(Collectors.partitioningBy(purge.get()::isCopied));
      files.get(true).forEach(file -> groups.add(new Bin(values, scalaList(List.of(file)))));
      if (!files.get(false).isEmpty()) {
        left.add(new Tuple2<>(values, scalaList(files.get(false))));
      }
    }
    purge.get().setGroups(groups);
    return scalaList(left);
  }

  /**
   * Adds a group for each copied file to Delta's groups of files that are rewritten together.
   *
   * @param bins Delta's groups of the files that {@link #begin} returned
   */
  @SuppressWarnings("unchecked")
  public static Object group(Object executor, Object bins) {
    Purge purge = RUNNING.get(executor);
    if (purge == null) {
      return bins;
    }
    List<Bin> grouped = new ArrayList<>(CollectionConverters.asJava((Seq<Bin>) bins));
    grouped.addAll(purge.takeGroups());
    return scalaList(grouped);
  }

  /**
   * Returns the actions that replace a group of files by copies.
   *
   * @return null if Delta must rewrite the group
   */
  @SuppressWarnings("unchecked")
  public static Object actions(Object executor, Object files) {
    Purge purge = RUNNING.get(executor);
    List<AddFile> sources = CollectionConverters.asJava((Seq<AddFile>) files);
    return purge == null || !sources.stream().allMatch(purge::isCopied)
        ? null
        : scalaList(purge.actions(sources));
  }

  /** Records that Delta failed to rewrite a group. Delta then commits no file of the batch. */
  public static void fail(Object executor) {
    Purge purge = RUNNING.get(executor);
    if (purge != null) {
      purge.fail();
    }
  }

  /**
   * Refuses a commit on a later version with a column that the copies lack, or with other row ids.
   *
   * @param retries Delta's function of a new transaction, which returns whether to commit it
   * @return a function that checks the version first
   */
  @SuppressWarnings("unchecked")
  public static Object commit(Object executor, Object retries) {
    Purge purge = RUNNING.get(executor);
    if (purge == null) {
      return retries;
    }
    purge.beginCommit();
    Function1<OptimisticTransaction, Object> byDelta =
        (Function1<OptimisticTransaction, Object>) retries;
    Function1<OptimisticTransaction, Object> checked =
        transaction ->
            purge.mayBeTriedOn(transaction.snapshot()) ? byDelta.apply(transaction) : false;
    return checked;
  }

  /**
   * Ends the purge of a statement.
   *
   * @param executor as for {@link #begin}, and the predicate of its partitions
   * @param failure of the statement; null if it succeeded
   * @throws UsageTrackingException USAGE_TRACKING_FAILED_AFTER_COMMIT or
   *     USAGE_TRACKING_UNREADABLE_DATA_FILE instead of the failure
   */
  public static void end(Object[] executor, Object failure) {
    Purge purge = RUNNING.remove(executor[0]);
    if (failure == null) {
      return;
    }
    Throwable described = (Throwable) failure;
    if (purge != null) {
      described = purge.end(described);
    } else if (isPurge((DeltaOptimizeContext) executor[4])) {
      described = UnreadFooters.described(executor, described);
    }
    if (described != failure) {
      throw UsageTrackingException.sneakyThrow(described);
    }
  }

  private static boolean isPurge(DeltaOptimizeContext context) {
    return context.reorg().exists(operation -> operation.getClass() == DeltaPurgeOperation.class);
  }

  private static <T> scala.collection.immutable.List<T> scalaList(List<T> values) {
    return CollectionConverters.asScala(values).toList();
  }
}
