// SPDX-License-Identifier: Apache-2.0
package sparkext.removal;

import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.hadoop.fs.FileStatus;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.DomainMetadataTableFeature$;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.actions.Action;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.actions.CommitInfo;
import org.apache.spark.sql.delta.actions.DomainMetadata;
import org.apache.spark.sql.delta.actions.Metadata;
import org.apache.spark.sql.delta.actions.RemoveFile;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;
import sparkext.delta.CommitActions;
import sparkext.delta.DeltaShims;
import sparkext.delta.DeltaShims.CommitFile;
import sparkext.files.LiveFiles;

/**
 * The newest version of a table, updated by the commits since the version that was read before.
 * Reading a whole version again may take longer than other writers need for the next version.
 *
 * <p>Source: Delta 4.4.0, InMemoryLogReplay.scala.
 */
final class IncrementalSnapshot {
  private static final String VACUUM = "VACUUM";
  private static final String UNKNOWN = "unknown";

  private final DeltaLog log;
  private final Option<CatalogTable> catalogTable;
  private Snapshot snapshot;
  private Map<Key, AddFile> files;
  private Map<String, DomainMetadata> domains;
  private LastCommit last;
  private boolean wasVacuumed;
  private boolean hasNewMetadata;

  /** The key that Delta identifies files by. */
  private record Key(String path, String vector) {
    static Key of(AddFile file) {
      return new Key(file.path(), file.getDeletionVectorUniqueId().getOrElse(() -> ""));
    }

    static Key of(RemoveFile file) {
      return new Key(file.path(), file.getDeletionVectorUniqueId().getOrElse(() -> ""));
    }
  }

  /**
   * The last commit that was read.
   *
   * @param operation in the commit's {@code commitInfo}, which a writer may leave out
   */
  record LastCommit(long version, String operation) {}

  IncrementalSnapshot(DeltaLog log, Option<CatalogTable> catalogTable) {
    this.log = log;
    this.catalogTable = catalogTable;
    this.snapshot = newest();
    this.last = new LastCommit(snapshot.version(), UNKNOWN);
  }

  /** Returns the path of the table. */
  String path() {
    return log.dataPath().toString();
  }

  /** Returns the version that was read last. */
  Snapshot snapshot() {
    return snapshot;
  }

  /** Returns the live files. A file is the same object until a commit changes the file. */
  Collection<AddFile> files() {
    return state().values();
  }

  /** Returns the domain metadata with a name. */
  Optional<DomainMetadata> domain(String name) {
    state();
    return Optional.ofNullable(domains.get(name)).filter(domain -> !domain.removed());
  }

  /** Returns the last commit that was read. */
  LastCommit last() {
    return last;
  }

  /** Returns whether a VACUUM may have been committed since the last call. */
  boolean wasVacuumed() {
    boolean was = wasVacuumed;
    wasVacuumed = false;
    return was;
  }

  /** Returns whether a commit that {@link #follow} read last contains metadata. */
  boolean hasNewMetadata() {
    return hasNewMetadata;
  }

  /** Reads the newest version. If the same table has no newer version, the state is unchanged. */
  void follow() {
    Snapshot newest = newest();
    hasNewMetadata = false;
    if (newest.version() <= snapshot.version() && isSameTable(newest)) {
      return;
    }
    List<CommitFile> commits = commitsUntil(newest.version());
    boolean isFollowed =
        files != null
            && isComplete(commits, newest.version())
            && commits.stream().mapToLong(commit -> commit.file().getLen()).sum()
                <= LiveFiles.MAX_BYTES;
    snapshot = newest;
    for (CommitFile commit : commits) {
      // If the files are read again, only operations and metadata of commits are needed.
      isFollowed = apply(commit.version(), commit.file(), isFollowed) && isFollowed;
    }
    if (!isFollowed || !LiveFiles.matchChecksum(files.values(), snapshot)) {
      files = null;
    }
  }

  private boolean isSameTable(Snapshot newest) {
    return newest.metadata().id().equals(snapshot.metadata().id());
  }

  /** Returns whether a listing contains each version up to the newest exactly once. */
  private boolean isComplete(List<CommitFile> commits, long newest) {
    long version = snapshot.version();
    for (CommitFile commit : commits) {
      version++;
      if (commit.version() != version) {
        return false;
      }
    }
    return version == newest;
  }

  private Map<Key, AddFile> state() {
    if (files == null) {
      files = new LinkedHashMap<>();
      for (AddFile file : LiveFiles.of(snapshot)) {
        files.put(Key.of(file), file);
      }
      domains = new LinkedHashMap<>();
      // Without the feature, Delta would compute the state of the table in a Spark job.
      if (snapshot.protocol().isFeatureSupported(DomainMetadataTableFeature$.MODULE$)) {
        for (DomainMetadata domain : CollectionConverters.asJava(snapshot.domainMetadata())) {
          domains.put(domain.domain(), domain);
        }
      }
    }
    return files;
  }

  private List<CommitFile> commitsUntil(long version) {
    List<CommitFile> commits = new ArrayList<>();
    DeltaShims.commits(log, snapshot.version() + 1, catalogTable, /* failOnDataLoss= */ false)
        .forEach(commits::add);
    commits.removeIf(commit -> commit.version() > version);
    return commits;
  }

  /** Applies a commit. If the files are wanted, returns whether they are known afterwards. */
  private boolean apply(long version, FileStatus commit, boolean areFilesWanted) {
    CommitActions read =
        CommitActions.of(
            commit.getPath(),
            log.newDeltaHadoopConf(),
            line -> areFilesWanted || line.contains("commitInfo") || line.contains("metaData"));
    boolean areKnown = read.isComplete();
    wasVacuumed |= !read.isComplete();
    last = new LastCommit(version, UNKNOWN);
    for (Action action : read.actions()) {
      if (action instanceof CommitInfo info && info.operation() != null) {
        last = new LastCommit(version, info.operation());
        wasVacuumed |= info.operation().startsWith(VACUUM);
      } else if (action instanceof Metadata) {
        hasNewMetadata = true;
      } else if (!areFilesWanted) {
        continue;
      } else if (!LiveFiles.hasPlainPath(action)) {
        areKnown = false;
      } else if (action instanceof RemoveFile file) {
        areKnown &= files.remove(Key.of(file)) != null;
      } else if (action instanceof AddFile file) {
        files.put(Key.of(file), file);
      } else if (action instanceof DomainMetadata domain) {
        domains.put(domain.domain(), domain);
      }
    }
    return areKnown;
  }

  private Snapshot newest() {
    return log.update(/* stalenessAcceptable= */ false, Option.empty(), catalogTable);
  }
}
