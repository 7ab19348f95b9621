// SPDX-License-Identifier: Apache-2.0
package sparkext.stale;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
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
import sparkext.common.JobNames;
import sparkext.common.UsageTrackingException;
import sparkext.delta.CommitActions;
import sparkext.delta.DeltaShims;
import sparkext.delta.DeltaShims.CommitFile;
import sparkext.log.LogJson;
import sparkext.stale.NameHistory.State;

/**
 * A cache of the changes of tables. Each commit is read once, because every statement of a stale
 * DeltaTable needs the history since its analysis.
 */
final class NameHistories {
  private static final int MAX_TABLES = 100;

  /** The feature that DROP FEATURE adds if it drops column mapping but not the history. */
  private static final String CHECKPOINT_PROTECTION = "checkpointProtection";

  private static final Map<Tuple2<String, Path>, CachedChanges> CACHE =
      new LinkedHashMap<>(16, 0.75f, /* accessOrder= */ true) {
        private static final long serialVersionUID = 1L;

        @Override
        protected boolean removeEldestEntry(Map.Entry<Tuple2<String, Path>, CachedChanges> eldest) {
          return size() > MAX_TABLES;
        }
      };

  private NameHistories() {}

  /** The protocol and the metadata that a commit changed. Each is null if it is unchanged. */
  private record Change(long version, String operation, Protocol protocol, Metadata metadata) {
    /** Returns this change, with the earlier metadata if only values of identities differ. */
    Change sharing(Metadata earlier) {
      return earlier != null && metadata != null && NameHistory.areSame(earlier, metadata)
          ? new Change(version, operation, protocol, earlier)
          : this;
    }

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

  /** All changes of consecutive versions. */
  private static final class CachedChanges {
    private final List<Change> changes = new ArrayList<>();
    private long first;
    private long last;

    CachedChanges(long first) {
      this.first = first;
      this.last = first - 1;
    }

    /** Returns the newest metadata; null if no change has one. */
    Metadata metadata() {
      for (int i = changes.size() - 1; i >= 0; i--) {
        if (changes.get(i).metadata() != null) {
          return changes.get(i).metadata();
        }
      }
      return null;
    }
  }

  /** Returns true if column mapping may have been removed in a version that the log contains. */
  static boolean mayHaveRemovedMapping(Protocol protocol) {
    return protocol.isFeatureSupported(ColumnMappingTableFeature$.MODULE$)
        || protocol.writerFeatureNames().contains(CHECKPOINT_PROTECTION);
  }

  /**
   * Returns the history from one version to a later version.
   *
   * @param end the metadata of the later version, if the caller knows it
   * @param start returns the table at the first version; called only if the table changed since
   * @return empty if the table did not change
   * @throws org.apache.spark.sql.delta.DeltaIllegalStateException a commit is missing. A failure of
   *     the storage is thrown as it is, although the signature does not declare it
   */
  static Optional<NameHistory> since(
      DeltaLog log, long version, long last, Optional<Metadata> end, Supplier<State> start) {
    Optional<NameHistory> history = cached(log, version, last, start);
    if (history.isPresent() && end.isPresent() && !history.get().endsWith(end.get())) {
      // The folder was replaced, and has other commits now.
      forget(log);
      return cached(log, version, last, start);
    }
    return history;
  }

  /** Returns the history from a version to the newest version, which has other metadata. */
  static Optional<NameHistory> between(SnapshotDescriptor analysed, SnapshotDescriptor newest) {
    DeltaLog log = newest.deltaLog();
    State start = State.of(analysed);
    Optional<NameHistory> history =
        since(
            log, analysed.version(), newest.version(), Optional.of(newest.metadata()), () -> start);
    if (history.isEmpty()) {
      forget(log);
      return cached(log, analysed.version(), newest.version(), () -> start);
    }
    return history;
  }

  /**
   * Returns the history from a version to the version of a reader.
   *
   * @return empty if the table did not change, or if its protocol excludes an earlier removal of
   *     column mapping
   */
  static Optional<NameHistory> until(SnapshotDescriptor reader, long start) {
    if (start >= reader.version() || !mayHaveRemovedMapping(reader.protocol())) {
      return Optional.empty();
    }
    DeltaLog log = reader.deltaLog();
    return since(
        log,
        start,
        reader.version(),
        Optional.of(reader.metadata()),
        () -> State.of(snapshotAt(log, start)));
  }

  /**
   * Returns the table at a version.
   *
   * @throws org.apache.spark.sql.delta.DeltaAnalysisException
   *     DELTA_STREAMING_CHECK_COLUMN_MAPPING_NO_SNAPSHOT, if the version cannot be read
   */
  static Snapshot snapshotAt(DeltaLog log, long version) {
    try {
      return DeltaShims.getSnapshotAt(log, version, log.getInitialCatalogTable());
    } catch (Exception unreadable) {
      throw UsageTrackingException.sneakyThrow(
          DeltaErrors.failedToGetSnapshotDuringColumnMappingStreamingReadCheck(unreadable));
    }
  }

  /** Returns true if the log contains the commit after a version. */
  static boolean hasCommitAfter(DeltaLog log, long version) {
    Iterator<CommitFile> commits =
        DeltaShims.commits(
                log, version + 1, log.getInitialCatalogTable(), /* failOnDataLoss= */ false)
            .iterator();
    return commits.hasNext() && commits.next().version() == version + 1;
  }

  private static void forget(DeltaLog log) {
    synchronized (CACHE) {
      CACHE.remove(log.compositeId());
    }
  }

  private static Optional<NameHistory> cached(
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
    CachedChanges cache;
    synchronized (CACHE) {
      cache = CACHE.computeIfAbsent(log.compositeId(), id -> new CachedChanges(first));
    }
    synchronized (cache) {
      if (last < cache.first - 1) {
        return read(log, first, last, /* earlier= */ null);
      }
      if (first > cache.last + 1) {
        // No caller needs the commits in between, which may be deleted.
        cache.changes.clear();
        cache.first = first;
        cache.last = first - 1;
      }
      if (first < cache.first) {
        cache.changes.addAll(0, read(log, first, cache.first - 1, /* earlier= */ null));
        cache.first = first;
      }
      if (last > cache.last) {
        cache.changes.addAll(read(log, cache.last + 1, last, cache.metadata()));
        cache.last = last;
      }
      return cache.changes.stream()
          .filter(change -> change.version() >= first && change.version() <= last)
          .toList();
    }
  }

  /**
   * Reads commits. Each write of IDENTITY columns commits metadata, and a stream may see a million
   * of them, so metadata that differ in nothing else are one object.
   *
   * @param earlier the metadata before the first commit; null if the cache has none
   */
  private static List<Change> read(DeltaLog log, long first, long last, Metadata earlier) {
    List<Path> commits = new ArrayList<>();
    Iterator<CommitFile> files =
        DeltaShims.commits(log, first, log.getInitialCatalogTable(), /* failOnDataLoss= */ true)
            .iterator();
    while (first + commits.size() <= last) {
      if (!files.hasNext()) {
        throw UsageTrackingException.sneakyThrow(
            DeltaErrors.failOnDataLossException(first + commits.size(), last));
      }
      commits.add(files.next().file().getPath());
    }
    JavaSparkContext context =
        JavaSparkContext.fromSparkContext(SparkSession.active().sparkContext());
    List<Change> changes = new ArrayList<>();
    Metadata newest = earlier;
    long version = first;
    for (LogJson commit :
        JobNames.ofStatement(
            context.sc(),
            () ->
                JobNames.described(
                    context.sc(),
                    log.dataPath(),
                    "reads the log",
                    () -> LogJson.of(context, log.newDeltaHadoopConf(), commits).values()))) {
      CommitActions read = CommitActions.of(commit.actions());
      boolean isRead = commit.problem() == null && !commit.isTruncated() && read.isComplete();
      Optional<Change> change =
          isRead ? Change.of(version, read.actions()) : Optional.of(fromSnapshot(log, version));
      if (change.isPresent()) {
        Change shared = change.get().sharing(newest);
        newest = shared.metadata() == null ? newest : shared.metadata();
        changes.add(shared);
      }
      version++;
    }
    return changes;
  }

  /** Returns the state of a version as a change, if only Spark's JSON reader reads its commit. */
  private static Change fromSnapshot(DeltaLog log, long version) {
    Snapshot snapshot = DeltaShims.getSnapshotAt(log, version, log.getInitialCatalogTable());
    return new Change(version, "", snapshot.protocol(), snapshot.metadata());
  }
}
