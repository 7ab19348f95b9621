// SPDX-License-Identifier: Apache-2.0
package sparkext.stale;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.delta.ColumnMappingTableFeature$;
import org.apache.spark.sql.delta.DeltaErrors;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.SnapshotDescriptor;
import org.apache.spark.sql.delta.actions.Action;
import org.apache.spark.sql.delta.actions.CommitInfo;
import org.apache.spark.sql.delta.actions.Metadata;
import org.apache.spark.sql.delta.actions.Protocol;
import scala.Tuple2;
import scala.collection.Iterator;
import sparkext.commit.CommitActions;
import sparkext.error.UsageTrackingException;
import sparkext.jobs.JobNames;
import sparkext.log.LogJson;
import sparkext.shim.DeltaShims;
import sparkext.stale.NameHistory.State;

/**
 * The histories of the tables that a driver has asked for. Of each the commits are read once: who
 * holds on to a DeltaTable asks with every statement.
 */
final class NameHistories {
  private static final int MAX_TABLES = 100;

  /** What stays in the protocol of a table whose column mapping was dropped with its history. */
  private static final String CHECKPOINT_PROTECTION = "checkpointProtection";

  private static final Map<Tuple2<String, Path>, Known> KNOWN =
      new LinkedHashMap<>(16, 0.75f, /* accessOrder= */ true) {
        private static final long serialVersionUID = 1L;

        @Override
        protected boolean removeEldestEntry(Map.Entry<Tuple2<String, Path>, Known> eldest) {
          return size() > MAX_TABLES;
        }
      };

  private NameHistories() {}

  /** What a commit changed; null where it did not. */
  private record Change(long version, String operation, Protocol protocol, Metadata metadata) {
    static Optional<Change> of(long version, List<Action> actions) {
      String operation = "";
      Protocol protocol = null;
      Metadata metadata = null;
      for (Action action : actions) {
        if (action instanceof CommitInfo info && info.operation() != null) {
          operation = info.operation();
        } else if (action instanceof Protocol changed) {
          protocol = changed;
        } else if (action instanceof Metadata changed) {
          metadata = changed;
        }
      }
      return protocol == null && metadata == null
          ? Optional.empty()
          : Optional.of(new Change(version, operation, protocol, metadata));
    }

    State after(State before) {
      return new State(
          version,
          operation,
          protocol == null ? before.protocol() : protocol,
          metadata == null ? before.metadata() : metadata);
    }
  }

  /** All changes of some versions in a row. */
  private static final class Known {
    private final List<Change> changes = new ArrayList<>();
    private long first;
    private long last;

    Known(long first) {
      this.first = first;
      this.last = first - 1;
    }
  }

  /** Whether a table may ever have left column mapping, in the versions that its log has. */
  static boolean mayHaveLeft(Protocol protocol) {
    return protocol.isFeatureSupported(ColumnMappingTableFeature$.MODULE$)
        || protocol.writerFeatureNames().contains(CHECKPOINT_PROTECTION);
  }

  /**
   * The history from a version that is known on to a later one.
   *
   * @param end the metadata of the later one; nothing where it is not known
   * @param start what the table was then; asked only if it changed since
   * @return nothing where it did not change
   * @throws org.apache.spark.sql.delta.DeltaIllegalStateException a commit is missing
   * @throws UsageTrackingException a failure of the storage
   */
  static Optional<NameHistory> since(
      DeltaLog log, long version, long last, Optional<Metadata> end, Supplier<State> start) {
    Optional<NameHistory> history = remembered(log, version, last, start);
    if (history.isPresent() && end.isPresent() && !history.get().metadata().equals(end.get())) {
      // Who puts the folder of a table back has given it other commits.
      forget(log);
      return remembered(log, version, last, start);
    }
    return history;
  }

  /** The history from a version to the newest, which has other metadata. */
  static Optional<NameHistory> between(SnapshotDescriptor analysed, SnapshotDescriptor newest) {
    DeltaLog log = newest.deltaLog();
    State start = new State(analysed.version(), "", analysed.protocol(), analysed.metadata());
    Optional<NameHistory> history =
        since(
            log, analysed.version(), newest.version(), Optional.of(newest.metadata()), () -> start);
    if (history.isEmpty()) {
      forget(log);
      return remembered(log, analysed.version(), newest.version(), () -> start);
    }
    return history;
  }

  /** Whether the log has the commit after a version. */
  static boolean hasNext(DeltaLog log, long version) {
    Iterator<Tuple2<Object, FileStatus>> commits =
        DeltaShims.getChangeLogFiles(
            log, version + 1, log.getInitialCatalogTable(), /* failOnDataLoss= */ false);
    return commits.hasNext() && (long) commits.next()._1() == version + 1;
  }

  private static void forget(DeltaLog log) {
    synchronized (KNOWN) {
      KNOWN.remove(log.compositeId());
    }
  }

  private static Optional<NameHistory> remembered(
      DeltaLog log, long version, long last, Supplier<State> start) {
    List<Change> changes = changes(log, version + 1, last);
    if (changes.isEmpty()) {
      return Optional.empty();
    }
    List<State> states = new ArrayList<>();
    states.add(start.get());
    for (Change change : changes) {
      states.add(change.after(states.get(states.size() - 1)));
    }
    return Optional.of(new NameHistory(states));
  }

  private static List<Change> changes(DeltaLog log, long first, long last) {
    Known known;
    synchronized (KNOWN) {
      known = KNOWN.computeIfAbsent(log.compositeId(), id -> new Known(first));
    }
    synchronized (known) {
      if (last < known.first - 1) {
        return read(log, first, last);
      }
      if (first > known.last + 1) {
        // Nobody needs the commits in between, which may be gone.
        known.changes.clear();
        known.first = first;
        known.last = first - 1;
      }
      if (first < known.first) {
        known.changes.addAll(0, read(log, first, known.first - 1));
        known.first = first;
      }
      if (last > known.last) {
        known.changes.addAll(read(log, known.last + 1, last));
        known.last = last;
      }
      return known.changes.stream()
          .filter(change -> change.version() >= first && change.version() <= last)
          .toList();
    }
  }

  private static List<Change> read(DeltaLog log, long first, long last) {
    List<Path> commits = new ArrayList<>();
    Iterator<Tuple2<Object, FileStatus>> files =
        DeltaShims.getChangeLogFiles(
            log, first, log.getInitialCatalogTable(), /* failOnDataLoss= */ true);
    while (first + commits.size() <= last) {
      if (!files.hasNext()) {
        throw UsageTrackingException.sneakyThrow(
            DeltaErrors.failOnDataLossException(first + commits.size(), last));
      }
      commits.add(files.next()._2().getPath());
    }
    JavaSparkContext context =
        JavaSparkContext.fromSparkContext(SparkSession.active().sparkContext());
    List<Change> changes = new ArrayList<>();
    long version = first;
    for (LogJson commit :
        JobNames.ofStatement(
            context.sc(),
            () ->
                JobNames.described(
                    context.sc(),
                    log.dataPath(),
                    "reads the log",
                    () ->
                        LogJson.of(
                                context,
                                log.newDeltaHadoopConf(),
                                commits,
                                /* withMentions= */ false)
                            .values()))) {
      CommitActions read = CommitActions.of(commit.lines());
      (read.areAll() ? Change.of(version, read.actions()) : Optional.of(byDelta(log, version)))
          .ifPresent(changes::add);
      version++;
    }
    return changes;
  }

  /** What a version has whose commit only Spark's reader of JSON reads. */
  private static Change byDelta(DeltaLog log, long version) {
    Snapshot snapshot = DeltaShims.getSnapshotAt(log, version, log.getInitialCatalogTable());
    return new Change(version, "", snapshot.protocol(), snapshot.metadata());
  }
}
