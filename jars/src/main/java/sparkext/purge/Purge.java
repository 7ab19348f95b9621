// SPDX-License-Identifier: Apache-2.0
package sparkext.purge;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.ConcurrentModificationException;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.delta.DeltaOperations;
import org.apache.spark.sql.delta.RowId$;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.actions.Action;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.actions.Metadata;
import org.apache.spark.sql.types.StructType;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.Option;
import scala.Tuple2;
import scala.collection.Iterator;
import sparkext.commit.CommitActions;
import sparkext.copy.CopyProgress;
import sparkext.error.Setting;
import sparkext.error.UsageTrackingErrors;
import sparkext.error.UsageTrackingException;
import sparkext.files.CopiedActions;
import sparkext.files.CopySetting;
import sparkext.files.FileJob;
import sparkext.files.FilePlaces;
import sparkext.files.FilePlan;
import sparkext.files.LiveFiles;
import sparkext.parquet.ColumnPlan;
import sparkext.parquet.DataFile;
import sparkext.parquet.Uninterrupted;
import sparkext.shim.DeltaShims;
import sparkext.wire.MetadataRules;

/** The copies of one REORG TABLE: files of a version without the bytes of dropped columns. */
final class Purge {
  private static final Logger LOG = LoggerFactory.getLogger(Purge.class);

  private final SparkSession session;
  private final Snapshot snapshot;
  private final Option<CatalogTable> catalogTable;
  private final ColumnPlan columns;
  private final Configuration configuration;
  private final FilePlaces places;
  private final FilePlan plan;

  /** What the log will say of the copies, by the paths of their sources. */
  private final Map<String, AddFile> copies = new HashMap<>();

  /** The paths of copies that a transaction was given. */
  private final Set<String> given = ConcurrentHashMap.newKeySet();

  /** Whether nothing more is committed. */
  private volatile boolean hasFailed;

  /** Whether a transaction was given copies to commit. */
  private volatile boolean mayBeCommitted;

  /**
   * Returns what becomes of the columns in a table's files; empty if Delta has to rewrite the
   * files.
   *
   * @throws UsageTrackingException USAGE_TRACKING_INVALID_SETTING; a failure of the rules
   */
  static Optional<ColumnPlan> plan(SparkSession session, Snapshot table) {
    return CopySetting.of(session, Setting.PURGE).copies(table.protocol())
        ? MetadataRules.purge(table.metadata())
        : Optional.empty();
  }

  /** Of a version of a table, by a plan for it. */
  Purge(
      SparkSession session,
      Snapshot snapshot,
      Option<CatalogTable> catalogTable,
      ColumnPlan columns) {
    this.session = session;
    this.snapshot = snapshot;
    this.catalogTable = catalogTable;
    this.columns = columns;
    this.configuration = snapshot.deltaLog().newDeltaHadoopConf();
    this.places = new FilePlaces(snapshot.deltaLog().dataPath(), snapshot.metadata());
    this.plan =
        new FilePlan(
            columns,
            snapshot,
            Arrays.asList(snapshot.metadata().physicalPartitionSchema().fieldNames()),
            places,
            /* isPurge= */ true);
  }

  /**
   * Throws if one of some files cannot be read.
   *
   * @throws UsageTrackingException USAGE_TRACKING_UNREADABLE_DATA_FILE
   */
  void refuseUnreadable(Set<String> paths) {
    run(paths, (number, values) -> null, "reads up to " + paths.size() + " footers");
  }

  private List<FileJob.TaskResult> run(Set<String> paths, FileJob.Target target, String doing) {
    // Those that Delta works with have no statistics.
    List<AddFile> files =
        LiveFiles.of(snapshot).stream().filter(file -> paths.contains(file.path())).toList();
    FileJob job = new FileJob(session, configuration, plan, places.table());
    List<FileJob.TaskResult> done =
        job.run(files, target, doing, CopyProgress.in(session.sparkContext()));
    for (FileJob.TaskResult one : done) {
      if (one.result().way() == DataFile.Way.UNREADABLE) {
        throw one.refusal().sneakyThrow();
      }
    }
    return done;
  }

  /**
   * Copies those of some files that can be copied, or none if that fails.
   *
   * @throws UsageTrackingException USAGE_TRACKING_UNREADABLE_DATA_FILE, also for a deletion vector
   *     of a file that is not copied: Delta could not read that either, once it has committed
   *     others
   */
  void copy(Set<String> paths) {
    try {
      for (FileJob.TaskResult done :
          run(paths, places::target, "purges up to " + paths.size() + " files")) {
        if (done.result().way() == DataFile.Way.COPIED) {
          copies.put(
              done.looked().file().path(),
              CopiedActions.added(done.looked(), done.result(), places));
        } else {
          LOG.info(
              "{} is left to Delta: {} {}",
              done.looked().file().path(),
              done.result().way(),
              done.result().reason());
        }
      }
    } catch (Throwable failure) {
      removeAll();
      throw UsageTrackingException.sneakyThrow(failure);
    } finally {
      places.abortUploads(configuration);
    }
  }

  boolean isCopied(AddFile file) {
    return copies.containsKey(file.path());
  }

  boolean areNone() {
    return copies.isEmpty();
  }

  /** What a commit says of copied files. */
  List<Action> actions(List<AddFile> files) {
    List<Action> actions = new ArrayList<>();
    for (AddFile file : files) {
      AddFile copy = copies.get(file.path());
      given.add(copy.path());
      actions.add(copy);
    }
    files.forEach(file -> actions.add(CopiedActions.removed(file)));
    return actions;
  }

  StructType schema() {
    return snapshot.schema();
  }

  void fail() {
    hasFailed = true;
  }

  void commit() {
    mayBeCommitted = true;
  }

  /**
   * Whether files without the columns that this version has not are right for another one too: not
   * where RESTORE has brought such a column back, whose values they lack.
   */
  boolean hasColumnsOf(Snapshot other) {
    Metadata now = other.metadata();
    if (now.equals(snapshot.metadata())) {
      return true;
    }
    Optional<ColumnPlan> current = MetadataRules.purge(now);
    return current.isPresent() && columns.containsAllOf(current.get(), plan.maxColumnId());
  }

  /**
   * Whether another version has the row ids that the copies say: not where the feature was dropped
   * meanwhile, after which rows get new ones.
   */
  boolean hasRowIdsOf(Snapshot other) {
    if (!RowId$.MODULE$.isSupported(snapshot.protocol())
        && !RowId$.MODULE$.isSupported(other.protocol())) {
      return true;
    }
    for (AddFile file : LiveFiles.of(other)) {
      AddFile copy = copies.get(file.path());
      if (copy != null
          && !(copy.baseRowId().equals(file.baseRowId())
              && copy.defaultRowCommitVersion().equals(file.defaultRowCommitVersion()))) {
        return false;
      }
    }
    return true;
  }

  /**
   * Removes what no commit has, once the statement has failed.
   *
   * @return the failure, or USAGE_TRACKING_FAILED_AFTER_COMMIT with it if all copies are committed
   */
  Throwable end(Throwable failure) {
    Throwable[] described = {failure};
    Uninterrupted.run(
        () -> {
          try {
            described[0] = endAfter(failure);
          } catch (Exception unknown) { // Scala declares none: a storage's own are some
            failure.addSuppressed(unknown);
            LOG.warn("Copies stay until VACUUM, for their commit may stand in the log");
          }
        });
    return described[0];
  }

  private Throwable endAfter(Throwable failure) {
    if (!mayBeCommitted) {
      removeAll();
      return failure;
    }
    // A storage that failed may write its log entry yet; who was overtaken never will, but for an
    // entry of which the answer was lost.
    boolean isOver = hasFailed || failure instanceof ConcurrentModificationException;
    Map<String, Long> committed = committed();
    if (!isOver && !committed.isEmpty() && committed.keySet().containsAll(given)) {
      return UsageTrackingErrors.failedAfterCommit(
          DeltaOperations.REORG_OPERATION_NAME(),
          places.table().toString(),
          Collections.max(committed.values()),
          failure);
    }
    if (!isOver) {
      LOG.warn("Copies stay until VACUUM, for their commit may stand in the log");
      return failure;
    }
    Set<String> unused = new HashSet<>();
    copies.values().forEach(copy -> unused.add(copy.path()));
    unused.removeAll(committed.keySet());
    places.remove(unused, configuration);
    return failure;
  }

  /** The versions since this one that added copies: with a batch size, there may be several. */
  private Map<String, Long> committed() {
    Map<String, Long> committed = new HashMap<>();
    Iterator<Tuple2<Object, FileStatus>> commits =
        DeltaShims.getChangeLogFiles(
            snapshot.deltaLog(), snapshot.version() + 1, catalogTable, /* failOnDataLoss= */ true);
    while (commits.hasNext()) {
      Tuple2<Object, FileStatus> commit = commits.next();
      for (Action action : CommitActions.of(commit._2().getPath(), configuration).actions()) {
        if (action instanceof AddFile file && given.contains(file.path())) {
          committed.put(file.path(), (long) commit._1());
        }
      }
    }
    return committed;
  }

  private void removeAll() {
    places.removeAll(Set.of(), configuration);
  }
}
