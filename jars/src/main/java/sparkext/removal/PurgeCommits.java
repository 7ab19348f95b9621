// SPDX-License-Identifier: Apache-2.0
package sparkext.removal;

import java.util.Collection;
import java.util.Collections;
import java.util.ConcurrentModificationException;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.delta.DeltaOperations;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.actions.Action;
import org.apache.spark.sql.delta.actions.AddFile;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.Option;
import sparkext.common.FailedRead;
import sparkext.common.UsageTrackingErrors;
import sparkext.delta.CommitActions;
import sparkext.delta.DeltaShims;
import sparkext.delta.DeltaShims.CommitFile;
import sparkext.files.CopyPlaces;
import sparkext.parquet.Uninterrupted;

/**
 * The commits that may contain the copies of a purge, and the removal of copies that no commit
 * contains.
 */
final class PurgeCommits {
  private static final Logger LOG = LoggerFactory.getLogger(PurgeCommits.class);

  private final Snapshot snapshot;
  private final Option<CatalogTable> catalogTable;
  private final CopyPlaces places;
  private final Collection<AddFile> copies;

  /** The paths of copies that Delta has received for a commit. */
  private final Set<String> given = ConcurrentHashMap.newKeySet();

  /** True if Delta commits no further copies. */
  private volatile boolean hasFailed;

  /** True if Delta may have committed copies. */
  private volatile boolean mayContainCopies;

  /**
   * @param snapshot the version whose files were copied
   * @param places the places of all copies
   * @param copies a view of the copies that Delta may receive
   */
  PurgeCommits(
      Snapshot snapshot,
      Option<CatalogTable> catalogTable,
      CopyPlaces places,
      Collection<AddFile> copies) {
    this.snapshot = snapshot;
    this.catalogTable = catalogTable;
    this.places = places;
    this.copies = copies;
  }

  /** Notes that Delta receives a copy for a commit. */
  void add(AddFile copy) {
    given.add(copy.path());
  }

  /** Notes that Delta begins a commit. */
  void begin() {
    mayContainCopies = true;
  }

  /** Notes that Delta commits no further copies. */
  void fail() {
    hasFailed = true;
  }

  /**
   * Removes copies that no commit contains, after the statement has failed.
   *
   * @return the failure; USAGE_TRACKING_UNREADABLE_DATA_FILE if Delta could not read a file before
   *     its first commit; USAGE_TRACKING_FAILED_AFTER_COMMIT if Delta has committed every copy that
   *     it received, unless after {@link #fail} or a conflict
   */
  Throwable end(Throwable failure) {
    Throwable[] described = {failure};
    Uninterrupted.run(
        () -> {
          try {
            described[0] = endAfter(failure);
          } catch (Exception unknown) { // Scala declares no checked exceptions
            failure.addSuppressed(unknown);
            warnOfKeptCopies();
          }
        });
    return described[0];
  }

  private Throwable endAfter(Throwable failure) {
    if (!mayContainCopies) {
      places.removeAll(Set.of());
      return FailedRead.described(failure);
    }
    // A storage that failed may write its log entry later. After a conflict no entry is written,
    // but an entry whose response was lost may exist.
    boolean isOver = hasFailed || failure instanceof ConcurrentModificationException;
    Map<String, Long> committed = committed();
    if (!isOver && !committed.isEmpty() && committed.keySet().containsAll(given)) {
      return UsageTrackingErrors.failedAfterCommit(
          DeltaOperations.REORG_OPERATION_NAME(),
          places.paths().table().toString(),
          Collections.max(committed.values()),
          failure);
    }
    if (!isOver) {
      warnOfKeptCopies();
      return failure;
    }
    Set<String> unused = new HashSet<>();
    copies.forEach(copy -> unused.add(copy.path()));
    unused.removeAll(committed.keySet());
    places.remove(unused);
    return failure;
  }

  private static void warnOfKeptCopies() {
    LOG.warn("Copies remain until VACUUM, because a commit in the log may contain them");
  }

  /** Returns the versions that added copies. There may be several if Delta commits in batches. */
  private Map<String, Long> committed() {
    Map<String, Long> committed = new HashMap<>();
    Configuration configuration = snapshot.deltaLog().newDeltaHadoopConf();
    for (CommitFile commit :
        DeltaShims.commits(
            snapshot.deltaLog(),
            snapshot.version() + 1,
            catalogTable,
            /* failOnDataLoss= */ true)) {
      for (Action action : CommitActions.of(commit.file().getPath(), configuration).actions()) {
        if (action instanceof AddFile file && given.contains(file.path())) {
          committed.put(file.path(), commit.version());
        }
      }
    }
    return committed;
  }
}
