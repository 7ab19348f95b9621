// SPDX-License-Identifier: Apache-2.0
package sparkext.purge;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.delta.DeltaErrors;
import org.apache.spark.sql.delta.OptimisticTransaction;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.commands.Bin;
import org.apache.spark.sql.delta.commands.DeltaOptimizeContext;
import org.apache.spark.sql.delta.commands.DeltaPurgeOperation;
import scala.Function1;
import scala.Option;
import scala.Tuple2;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction1;
import sparkext.error.UsageTrackingException;
import sparkext.jobs.JobNames;
import sparkext.parquet.ColumnPlan;

/**
 * Delta's REORG TABLE .. APPLY (PURGE) without decoding a file that has dropped columns alone: what
 * is found to have them, how that is committed and counted, and files with deletion vectors stay
 * Delta's.
 *
 * <p>What becomes of the columns is decided by {@code spark_ext/removal/copy_plan.py}.
 *
 * <p>Source: Delta 4.4.0, OptimizeTableCommand.scala, {@code OptimizeExecutor}.
 */
public final class PurgeCommand {
  /** By Delta's executor of the statement. */
  private static final Map<Object, Purge> RUNNING =
      Collections.synchronizedMap(new IdentityHashMap<>());

  private PurgeCommand() {}

  /**
   * Copies what can be copied of the files that are to be written anew, and reads the deletion
   * vectors of the others.
   *
   * @param executor an {@code OptimizeExecutor}, its session, snapshot, catalog table and context
   * @param partitions the files, by their partition values
   * @return those that are left to Delta, in the same shape
   * @throws UsageTrackingException USAGE_TRACKING_UNREADABLE_DATA_FILE; USAGE_TRACKING_COPY_FAILED;
   *     USAGE_TRACKING_INVALID_SETTING; a failure of the rules; the statement fails with it
   */
  @SuppressWarnings("unchecked")
  public static Object begin(Object[] executor, Object partitions) {
    if (!isPurge((DeltaOptimizeContext) executor[4])) {
      return partitions;
    }
    Seq<Tuple2<Object, Seq<AddFile>>> all = (Seq<Tuple2<Object, Seq<AddFile>>>) partitions;
    Set<String> paths = paths(all);
    SparkSession session = (SparkSession) executor[1];
    Snapshot snapshot = (Snapshot) executor[2];
    Optional<ColumnPlan> plan = paths.isEmpty() ? Optional.empty() : Purge.plan(session, snapshot);
    if (plan.isEmpty()) {
      return partitions;
    }
    Purge purge = new Purge(session, snapshot, (Option<CatalogTable>) executor[3], plan.get());
    JobNames.ofStatement(
        session.sparkContext(),
        () -> {
          purge.copy(paths);
          return null;
        });
    if (purge.areNone()) {
      return partitions;
    }
    RUNNING.put(executor[0], purge);
    return split(all, purge, /* copied= */ false);
  }

  /**
   * Delta's groups of files that are written together, and each that is copied by itself.
   *
   * @param executor with the files as they were given to {@link #begin}
   * @param bins of what was left to Delta
   */
  @SuppressWarnings("unchecked")
  public static Object group(Object[] executor, Object bins) {
    Purge purge = RUNNING.get(executor[0]);
    if (purge == null) {
      return bins;
    }
    List<Bin> grouped = new ArrayList<>(CollectionConverters.asJava((Seq<Bin>) bins));
    Seq<Tuple2<Object, Seq<AddFile>>> copied =
        split((Seq<Tuple2<Object, Seq<AddFile>>>) executor[1], purge, /* copied= */ true);
    for (Tuple2<Object, Seq<AddFile>> partition : CollectionConverters.asJava(copied)) {
      for (AddFile file : CollectionConverters.asJava(partition._2())) {
        grouped.add(
            new Bin(
                (scala.collection.immutable.Map<String, String>) partition._1(),
                CollectionConverters.asScala(List.of(file)).toList()));
      }
    }
    return CollectionConverters.asScala(grouped).toList();
  }

  /**
   * What a commit says of a group.
   *
   * @return null where it is left to Delta
   */
  @SuppressWarnings("unchecked")
  public static Object actions(Object executor, Object files) {
    Purge purge = RUNNING.get(executor);
    List<AddFile> sources = CollectionConverters.asJava((Seq<AddFile>) files);
    return purge == null || !sources.stream().allMatch(purge::isCopied)
        ? null
        : CollectionConverters.asScala(purge.actions(sources)).toList();
  }

  /** Delta could not write a group, and so commits none of its batch. */
  public static void fail(Object executor) {
    Purge purge = RUNNING.get(executor);
    if (purge != null) {
      purge.fail();
    }
  }

  /**
   * Refuses to commit on a later version that has a column which the copies lack, or other row ids.
   *
   * @param retries Delta's function, from a new transaction to whether it may be tried
   * @return such a function
   */
  @SuppressWarnings("unchecked")
  public static Object commit(Object executor, Object retries) {
    Purge purge = RUNNING.get(executor);
    if (purge == null) {
      return retries;
    }
    purge.commit();
    Function1<OptimisticTransaction, Object> byDelta =
        (Function1<OptimisticTransaction, Object>) retries;
    return new AbstractFunction1<OptimisticTransaction, Object>() {
      @Override
      public Object apply(OptimisticTransaction transaction) {
        return mayBeTried(purge, transaction.snapshot()) ? byDelta.apply(transaction) : false;
      }
    };
  }

  /** False gives way, as Delta does where a file is gone. */
  private static boolean mayBeTried(Purge purge, Snapshot now) {
    try {
      if (!purge.hasColumnsOf(now)) {
        throw UsageTrackingException.sneakyThrow(
            DeltaErrors.schemaChangedSinceAnalysis(
                purge.schema(), now.schema(), /* mentionLegacyFlag= */ false));
      }
      return purge.hasRowIdsOf(now);
    } catch (Throwable refusal) {
      purge.fail();
      throw refusal;
    }
  }

  /**
   * Forgets the statement.
   *
   * @param executor as for {@link #begin}, and the predicate of its partitions
   * @param failure with which it ended, or null
   * @throws UsageTrackingException USAGE_TRACKING_FAILED_AFTER_COMMIT;
   *     USAGE_TRACKING_UNREADABLE_DATA_FILE; in the place of the failure
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
      UnreadFooters.refuse(executor, described);
    }
    if (described != failure) {
      throw UsageTrackingException.sneakyThrow(described);
    }
  }

  private static boolean isPurge(DeltaOptimizeContext context) {
    return context.reorg().exists(operation -> operation.getClass() == DeltaPurgeOperation.class);
  }

  private static Set<String> paths(Seq<Tuple2<Object, Seq<AddFile>>> partitions) {
    Set<String> found = new HashSet<>();
    for (Tuple2<Object, Seq<AddFile>> partition : CollectionConverters.asJava(partitions)) {
      for (AddFile file : CollectionConverters.asJava(partition._2())) {
        found.add(file.path());
      }
    }
    return found;
  }

  /** The files that were copied, or all others. */
  private static Seq<Tuple2<Object, Seq<AddFile>>> split(
      Seq<Tuple2<Object, Seq<AddFile>>> partitions, Purge purge, boolean copied) {
    List<Tuple2<Object, Seq<AddFile>>> split = new ArrayList<>();
    for (Tuple2<Object, Seq<AddFile>> partition : CollectionConverters.asJava(partitions)) {
      List<AddFile> files = new ArrayList<>();
      for (AddFile file : CollectionConverters.asJava(partition._2())) {
        if (purge.isCopied(file) == copied) {
          files.add(file);
        }
      }
      if (!files.isEmpty()) {
        split.add(new Tuple2<>(partition._1(), CollectionConverters.asScala(files).toList()));
      }
    }
    return CollectionConverters.asScala(split).toList();
  }
}
