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
import sparkext.commit.CommitActions;
import sparkext.error.UsageTrackingException;
import sparkext.shim.DeltaShims;
import sparkext.wire.CountedFiles;

/**
 * The data files of a table's version, without a Spark job where that can be.
 *
 * <p>Delta itself replays every log in jobs, which take longer than all else where a log is short.
 *
 * <p>Source: Delta 4.4.0, Snapshot.scala, {@code stateReconstruction}, whose replay this is.
 */
public final class LiveFiles {
  /** Of more, the executors together are quicker. */
  private static final long MAX_BYTES = 16 << 20;

  /** Of a table with such a feature, the log may say of its files only where they are listed. */
  private static final String ADAPTIVE_METADATA = "adaptiveMetadata";

  private LiveFiles() {}

  /** How many, and their size: as the checksum has them, which Delta goes by too, or the log. */
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

  /** Each with its statistics, which Delta's own way to ask for files leaves out. */
  public static List<AddFile> of(Snapshot snapshot) {
    Optional<List<AddFile>> replayed =
        snapshot.checksumOpt().isDefined() ? replayed(snapshot) : Optional.empty();
    return replayed
        .filter(files -> areAll(files, snapshot))
        .orElseGet(() -> byDelta(snapshot, () -> snapshot.allFiles().collectAsList()));
  }

  /** Asks Delta, and says of a log that it cannot read which line is at fault. */
  private static <T> T byDelta(Snapshot snapshot, Supplier<T> answer) {
    try {
      return answer.get();
    } catch (Exception failure) { // Scala declares none: Spark's own is a checked one
      throw UsageTrackingException.sneakyThrow(
          CommitActions.described(failure, snapshot.deltaLog().newDeltaHadoopConf()));
    }
  }

  /** Whether they are as many and as large as the checksum says, if there is one. */
  public static boolean areAll(Collection<AddFile> files, Snapshot snapshot) {
    Option<VersionChecksum> checksum = snapshot.checksumOpt();
    return checksum.isEmpty()
        || count(files)
            .equals(
                new CountedFiles.Count(checksum.get().numFiles(), checksum.get().tableSizeBytes()));
  }

  private static CountedFiles.Count count(Collection<AddFile> files) {
    return new CountedFiles.Count(files.size(), files.stream().mapToLong(AddFile::size).sum());
  }

  /** What the commits alone say; nothing where there is more, or too much of them. */
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
      if (!read.areAll() || !read.actions().stream().allMatch(LiveFiles::isPlain)) {
        return Optional.empty();
      }
      actions.addAll(read.actions());
    }
    InMemoryLogReplay replay = DeltaShims.logReplay();
    replay.append(0, CollectionConverters.asScala(actions.iterator()));
    return Optional.of(List.copyOf(CollectionConverters.asJava(replay.allFiles())));
  }

  /**
   * Whether the path of a file, if the action is of one, is below the table's and written in one
   * way only. Delta compares those that are written otherwise.
   */
  public static boolean isPlain(Action action) {
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
