// SPDX-License-Identifier: Apache-2.0
package sparkext.files;

import java.net.URI;
import java.net.URISyntaxException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.DomainMetadataTableFeature$;
import org.apache.spark.sql.delta.LogSegment;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.VersionChecksum;
import org.apache.spark.sql.delta.actions.Action;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.actions.CommitInfo;
import org.apache.spark.sql.delta.actions.DomainMetadata;
import org.apache.spark.sql.delta.actions.FileAction;
import org.apache.spark.sql.delta.actions.InMemoryLogReplay;
import org.apache.spark.sql.delta.actions.Metadata;
import scala.Option;
import scala.collection.immutable.Set;
import scala.jdk.javaapi.CollectionConverters;
import sparkext.common.UsageTrackingException;
import sparkext.delta.CommitActions;
import sparkext.delta.DeltaShims;
import sparkext.delta.DeltaShims.CommitFile;
import sparkext.log.TableLog.FileCount;

/**
 * The newest version of a table with its live files, updated by the commits since the version that
 * was read before. Reading a whole version again may take longer than other writers need for the
 * next version.
 *
 * <p>A short log without a checkpoint is replayed without a Spark job: Delta's jobs take longer
 * than the rest of a removal then.
 *
 * <p>Source: Delta 4.4.0, Snapshot.scala, {@code stateReconstruction}, whose replay this is.
 */
public final class LiveTable {
  /** Above this size of the log a Spark job is faster. */
  private static final long MAX_BYTES = 16 << 20;

  /** Tables with such a feature may list their files outside of the commits. */
  private static final String ADAPTIVE_METADATA = "adaptiveMetadata";

  private static final String VACUUM = "VACUUM";
  private static final String UNKNOWN = "unknown";

  private final DeltaLog log;
  private final Option<CatalogTable> catalogTable;
  private Snapshot snapshot;

  /** The state of the version; null if it must be read again. */
  private InMemoryLogReplay replay;

  private LastCommit last;
  private boolean wasVacuumed;
  private boolean hasNewMetadata;

  /**
   * The last commit that was read.
   *
   * @param operation in the commit's {@code commitInfo}, which a writer may leave out
   */
  public record LastCommit(long version, String operation) {}

  /** Reads the newest version. */
  public LiveTable(DeltaLog log, Option<CatalogTable> catalogTable) {
    this.log = log;
    this.catalogTable = catalogTable;
    this.snapshot = newest();
    this.last = new LastCommit(snapshot.version(), UNKNOWN);
  }

  /** Returns the number and size of files by the checksum, as Delta does, or else by the log. */
  public static FileCount count(Snapshot snapshot) {
    return checksum(snapshot)
        .or(() -> replayed(snapshot).map(LiveTable::count))
        .orElseGet(
            () ->
                byDelta(
                    snapshot, () -> new FileCount(snapshot.numOfFiles(), snapshot.sizeInBytes())));
  }

  /** Returns the files with their statistics, which Delta's {@code filesForScan} omits. */
  public static List<AddFile> files(Snapshot snapshot) {
    Optional<List<AddFile>> replayed =
        checksum(snapshot).isPresent() ? replayed(snapshot) : Optional.empty();
    return replayed
        .filter(files -> matchChecksum(files, snapshot))
        .orElseGet(() -> byDelta(snapshot, () -> snapshot.allFiles().collectAsList()));
  }

  /** Returns the path of the table. */
  public String path() {
    return log.dataPath().toString();
  }

  /** Returns the version that was read last. */
  public Snapshot snapshot() {
    return snapshot;
  }

  /** Returns the live files. */
  public List<AddFile> files() {
    return files(state());
  }

  /** Returns the domain metadata with a name. */
  public Optional<DomainMetadata> domain(String name) {
    return CollectionConverters.asJavaCollection(state().getDomainMetadatas()).stream()
        .filter(domain -> domain.domain().equals(name))
        .findAny();
  }

  /** Returns the last commit that was read. */
  public LastCommit last() {
    return last;
  }

  /** Returns whether a VACUUM may have been committed since the last call. */
  public boolean wasVacuumed() {
    boolean was = wasVacuumed;
    wasVacuumed = false;
    return was;
  }

  /** Returns whether a commit that {@link #follow} read last contains metadata. */
  public boolean hasNewMetadata() {
    return hasNewMetadata;
  }

  /** Reads the newest version. If the same table has no newer version, the state is unchanged. */
  public void follow() {
    Snapshot newest = newest();
    hasNewMetadata = false;
    if (newest.version() <= snapshot.version()
        && newest.metadata().id().equals(snapshot.metadata().id())) {
      return;
    }
    List<CommitFile> commits = commitsUntil(newest.version());
    if (!isComplete(commits, newest.version())
        || commits.stream().mapToLong(commit -> commit.file().getLen()).sum() > MAX_BYTES) {
      replay = null;
    }
    snapshot = newest;
    commits.forEach(this::apply);
    if (replay != null && !matchChecksum(files(replay), snapshot)) {
      replay = null;
    }
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

  private InMemoryLogReplay state() {
    if (replay == null) {
      List<Action> actions = new ArrayList<>(files(snapshot));
      // Without the feature, Delta would compute the state of the table in a Spark job.
      if (snapshot.protocol().isFeatureSupported(DomainMetadataTableFeature$.MODULE$)) {
        actions.addAll(CollectionConverters.asJava(snapshot.domainMetadata()));
      }
      replay = replay(snapshot.version(), actions);
    }
    return replay;
  }

  private List<CommitFile> commitsUntil(long version) {
    List<CommitFile> commits = new ArrayList<>();
    DeltaShims.commits(log, snapshot.version() + 1, catalogTable, /* failOnDataLoss= */ false)
        .forEach(commits::add);
    commits.removeIf(commit -> commit.version() > version);
    return commits;
  }

  /** Reads a commit. Without a known state, only its operation and metadata are needed. */
  private void apply(CommitFile commit) {
    CommitActions read =
        CommitActions.of(
            commit.file().getPath(),
            log.newDeltaHadoopConf(),
            line -> replay != null || line.contains("commitInfo") || line.contains("metaData"));
    wasVacuumed |= !read.isComplete();
    last = new LastCommit(commit.version(), UNKNOWN);
    for (Action action : read.actions()) {
      if (action instanceof CommitInfo info && info.operation() != null) {
        last = new LastCommit(commit.version(), info.operation());
        wasVacuumed |= info.operation().startsWith(VACUUM);
      }
      hasNewMetadata |= action instanceof Metadata;
    }
    if (replay != null && isReplayable(read)) {
      replay.append(commit.version(), CollectionConverters.asScala(read.actions().iterator()));
    } else {
      replay = null;
    }
  }

  private Snapshot newest() {
    return log.update(/* stalenessAcceptable= */ false, Option.empty(), catalogTable);
  }

  /** Calls Delta, and reports the line at fault if Delta cannot read the log. */
  private static <T> T byDelta(Snapshot snapshot, Supplier<T> answer) {
    try {
      return answer.get();
    } catch (Exception failure) { // Scala declares no checked exceptions
      throw UsageTrackingException.sneakyThrow(
          CommitActions.described(failure, snapshot.deltaLog().newDeltaHadoopConf()));
    }
  }

  /** Returns whether number and size of files equal those in the checksum, if there is one. */
  private static boolean matchChecksum(Collection<AddFile> files, Snapshot snapshot) {
    return checksum(snapshot).map(count(files)::equals).orElse(true);
  }

  private static Optional<FileCount> checksum(Snapshot snapshot) {
    Option<VersionChecksum> checksum = snapshot.checksumOpt();
    return checksum.isEmpty()
        ? Optional.empty()
        : Optional.of(new FileCount(checksum.get().numFiles(), checksum.get().tableSizeBytes()));
  }

  private static FileCount count(Collection<AddFile> files) {
    return new FileCount(files.size(), files.stream().mapToLong(AddFile::size).sum());
  }

  /** Replays the commits; empty if the log has other files, or is too large. */
  private static Optional<List<AddFile>> replayed(Snapshot snapshot) {
    LogSegment log = snapshot.logSegment();
    List<FileStatus> commits = CollectionConverters.asJava(log.deltas());
    Option<Set<String>> features = snapshot.protocol().writerFeatures();
    if (!log.checkpointProvider().isEmpty()
        || commits.stream().mapToLong(FileStatus::getLen).sum() > MAX_BYTES
        || features.exists(all -> all.exists(name -> name.startsWith(ADAPTIVE_METADATA)))) {
      return Optional.empty();
    }
    Configuration configuration = snapshot.deltaLog().newDeltaHadoopConf();
    List<Action> actions = new ArrayList<>();
    for (FileStatus commit : commits) {
      CommitActions read = CommitActions.of(commit.getPath(), configuration);
      if (!isReplayable(read)) {
        return Optional.empty();
      }
      actions.addAll(read.actions());
    }
    return Optional.of(files(replay(0, actions)));
  }

  private static InMemoryLogReplay replay(long version, List<Action> actions) {
    InMemoryLogReplay replay = DeltaShims.logReplay();
    replay.append(version, CollectionConverters.asScala(actions.iterator()));
    return replay;
  }

  private static List<AddFile> files(InMemoryLogReplay replay) {
    return List.copyOf(CollectionConverters.asJava(replay.allFiles()));
  }

  private static boolean isReplayable(CommitActions read) {
    return read.isComplete() && read.actions().stream().allMatch(LiveTable::hasPlainPath);
  }

  /**
   * Returns whether an action concerns no file, or has a relative and normalized path. Only Delta
   * compares paths in other forms.
   */
  private static boolean hasPlainPath(Action action) {
    if (!(action instanceof FileAction file)) {
      return true;
    }
    try {
      URI uri = new URI(file.path());
      return !file.path().startsWith("/") && !uri.isAbsolute() && uri.normalize().equals(uri);
    } catch (URISyntaxException noUri) {
      return false;
    }
  }
}
