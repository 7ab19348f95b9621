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
import org.apache.spark.sql.delta.LogSegment;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.VersionChecksum;
import org.apache.spark.sql.delta.actions.Action;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.actions.FileAction;
import org.apache.spark.sql.delta.actions.InMemoryLogReplay;
import scala.Option;
import scala.collection.immutable.Set;
import scala.jdk.javaapi.CollectionConverters;
import sparkext.common.UsageTrackingException;
import sparkext.delta.CommitActions;
import sparkext.delta.DeltaShims;
import sparkext.wire.Question.CountedFiles;

/**
 * Lists the data files of a table's version. A short log without a checkpoint is replayed without a
 * Spark job: Delta's jobs take longer than the rest of a removal then.
 *
 * <p>Source: Delta 4.4.0, Snapshot.scala, {@code stateReconstruction}, whose replay this is.
 */
public final class LiveFiles {
  /** Above this size of the log a Spark job is faster. */
  public static final long MAX_BYTES = 16 << 20;

  /** Tables with such a feature may list their files outside of the commits. */
  private static final String ADAPTIVE_METADATA = "adaptiveMetadata";

  private LiveFiles() {}

  /** Returns the number and size of files by the checksum, as Delta does, or else by the log. */
  public static CountedFiles.Count count(Snapshot snapshot) {
    Option<VersionChecksum> checksum = snapshot.checksumOpt();
    if (checksum.isDefined()) {
      return new CountedFiles.Count(checksum.get().numFiles(), checksum.get().tableSizeBytes());
    }
    return replayed(snapshot)
        .map(LiveFiles::count)
        .orElseGet(
            () ->
                byDelta(
                    snapshot,
                    () -> new CountedFiles.Count(snapshot.numOfFiles(), snapshot.sizeInBytes())));
  }

  /** Returns the files with their statistics, which Delta's {@code filesForScan} omits. */
  public static List<AddFile> of(Snapshot snapshot) {
    Optional<List<AddFile>> replayed =
        snapshot.checksumOpt().isDefined() ? replayed(snapshot) : Optional.empty();
    return replayed
        .filter(files -> matchChecksum(files, snapshot))
        .orElseGet(() -> byDelta(snapshot, () -> snapshot.allFiles().collectAsList()));
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
  public static boolean matchChecksum(Collection<AddFile> files, Snapshot snapshot) {
    Option<VersionChecksum> checksum = snapshot.checksumOpt();
    return checksum.isEmpty()
        || count(files)
            .equals(
                new CountedFiles.Count(checksum.get().numFiles(), checksum.get().tableSizeBytes()));
  }

  private static CountedFiles.Count count(Collection<AddFile> files) {
    return new CountedFiles.Count(files.size(), files.stream().mapToLong(AddFile::size).sum());
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
      if (!read.isComplete() || !read.actions().stream().allMatch(LiveFiles::hasPlainPath)) {
        return Optional.empty();
      }
      actions.addAll(read.actions());
    }
    InMemoryLogReplay replay = DeltaShims.logReplay();
    replay.append(0, CollectionConverters.asScala(actions.iterator()));
    return Optional.of(List.copyOf(CollectionConverters.asJava(replay.allFiles())));
  }

  /**
   * Returns whether an action concerns no file, or has a relative and normalized path. Only Delta
   * compares paths in other forms.
   */
  public static boolean hasPlainPath(Action action) {
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
