// SPDX-License-Identifier: Apache-2.0
package sparkext.log;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.LongStream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.ChecksumException;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.SparkThrowable;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.util.SerializableConfiguration;
import sparkext.error.UsageTrackingErrors;
import sparkext.error.UsageTrackingException;
import sparkext.jobs.JobNames;

/**
 * A table's log as the rule process gets it, read in Spark jobs without Delta: what a foreign
 * writer left there may be nothing that Delta opens.
 */
public final class LoggedTable {
  private final SparkSession session;
  private final Configuration configuration;
  private final Path table;
  private final LogListing log;

  /**
   * @param table its absolute path
   * @param staged commits that a catalog has accepted, of which it may be that they are not in the
   *     log's folder itself
   */
  public LoggedTable(
      SparkSession session, Configuration configuration, Path table, List<FileStatus> staged)
      throws IOException {
    this.session = session;
    this.configuration = configuration;
    this.table = table;
    this.log = LogListing.of(table, configuration, staged);
  }

  /** Whether there are commits of which only a catalog knows whether they count. */
  public boolean hasStaged() throws IOException {
    return log.hasStaged(table, configuration);
  }

  /** Whether there is neither a commit nor a checkpoint. */
  public boolean isMissing() {
    return log.isEmpty();
  }

  /** What changed the table's metadata. */
  public TableLog metadata() throws IOException {
    return described("reads the log", () -> read(/* withFiles= */ false, null));
  }

  /**
   * What changed the table's metadata, and what its data files are.
   *
   * @param sample of so many files the footers are read; null for all
   */
  public TableLog metadataAndFiles(Integer sample) throws IOException {
    return described("reads the log and footers", () -> read(/* withFiles= */ true, sample));
  }

  /**
   * What lies in the table's folder, and what is left of its columns there.
   *
   * @param metadata of {@link #metadata}
   */
  public FolderPlaces places(TableLog metadata) throws IOException {
    return described("reads the folder, the log and footers", () -> readPlaces(metadata));
  }

  private interface Reading<T> {
    T read() throws IOException;
  }

  private <T> T described(String doing, Reading<T> reading) throws IOException {
    try {
      return JobNames.described(session.sparkContext(), table, doing, reading::read);
    } catch (Exception failed) { // Scala declares no checked exception: SparkException is one
      throw asUnreadable(failed);
    }
  }

  /** What Spark and Hadoop say of a file that they cannot read, in our words. */
  private RuntimeException asUnreadable(Exception failed) {
    for (Throwable cause = failed; cause != null; cause = cause.getCause()) {
      if (cause instanceof ChecksumException) { // it names the file
        String folder = new Path(table, "_delta_log").toString();
        return UsageTrackingErrors.unreadableLog(folder, firstLine(cause)).sneakyThrow();
      }
      if (cause instanceof SparkThrowable known
          && known.getCondition() != null
          && known.getCondition().startsWith("FAILED_READ_FILE")) {
        Throwable reason = cause.getCause() == null ? cause : cause.getCause();
        String path = known.getMessageParameters().get("path");
        return UsageTrackingErrors.unreadableLog(path, firstLine(reason)).sneakyThrow();
      }
    }
    return UsageTrackingException.sneakyThrow(failed);
  }

  private static String firstLine(Throwable reason) {
    return String.valueOf(reason.getMessage()).lines().findFirst().orElse("");
  }

  private FolderPlaces readPlaces(TableLog metadata) throws IOException {
    LogFolder folder = LogFolder.of(table, configuration, log.lastVersion());
    List<Long> changes =
        metadata.commits().stream()
            .filter(commit -> commit.has("metaData"))
            .map(TableLog.Commit::version)
            .toList();
    Broadcast<SerializableConfiguration> broadcast =
        context().broadcast(new SerializableConfiguration(configuration));
    try {
      return new FolderPlaces(
          new HeldFiles(session, table, new DataFolder(table, configuration), log, changes)
              .groups(broadcast),
          new LogMentions(session, folder.files(), changes).groups(broadcast),
          boundaries(folder));
    } finally {
      broadcast.destroy();
    }
  }

  private List<CleanupBoundary> boundaries(LogFolder folder) {
    return LongStream.concat(
            log.checkpoints().stream().mapToLong(LogListing.Checkpoint::version),
            LongStream.of(log.lastVersion() + 1))
        .distinct()
        .sorted()
        .mapToObj(version -> new CleanupBoundary(version, folder.newestBefore(version)))
        .toList();
  }

  private TableLog read(boolean withFiles, Integer sample) throws IOException {
    LogListing read = withFiles ? log : log.forMetadata();
    Actions found = Actions.of(session, configuration, read);
    List<Path> torn = torn(read, found, withFiles);
    List<TableLog.Commit> commits =
        log.commits().stream()
            .map(
                commit ->
                    new TableLog.Commit(
                        commit.version(), commit.time(), found.in(List.of(commit.path()))))
            .filter(commit -> commit.has("metaData") || commit.has("protocol"))
            .toList();
    List<Long> changes =
        commits.stream()
            .filter(commit -> commit.has("metaData"))
            .map(TableLog.Commit::version)
            .toList();
    return new TableLog(
        log.lastVersion(),
        first(log.commits()),
        log.hintedCheckpoint(),
        torn.stream().map(Path::getName).toList(),
        commits,
        summaries(read, found),
        withFiles
            ? new AuditedFiles(session, configuration, table, log, torn, changes).groups(sample)
            : null);
  }

  /**
   * The commits that end with half a line.
   *
   * @param isAudit who asks what happened gets no half of it
   */
  private static List<Path> torn(LogListing log, Actions found, boolean isAudit) {
    List<Path> commits = log.commits().stream().map(LogListing.Commit::path).toList();
    for (Path file : log.jsonFiles()) {
      if (found.isTorn(file) && !(isAudit && commits.contains(file))) {
        throw UsageTrackingErrors.unreadableLog(file.toString(), "it ends with half a line")
            .sneakyThrow();
      }
    }
    return commits.stream().filter(found::isTorn).toList();
  }

  private static List<TableLog.Summary> summaries(LogListing log, Actions found) {
    List<TableLog.Summary> summaries = new ArrayList<>();
    for (LogListing.Checkpoint checkpoint : log.checkpoints()) {
      String name = checkpoint.parts().get(0).getName();
      summaries.add(
          new TableLog.Summary(name, checkpoint.version(), null, found.in(checkpoint.parts())));
    }
    for (LogListing.Compaction compaction : log.compactions()) {
      summaries.add(
          new TableLog.Summary(
              compaction.path().getName(),
              compaction.version(),
              compaction.firstVersion(),
              found.in(List.of(compaction.path()))));
    }
    return summaries;
  }

  private static Long first(List<LogListing.Commit> commits) {
    return commits.isEmpty() ? null : commits.get(0).version();
  }

  private JavaSparkContext context() {
    return JavaSparkContext.fromSparkContext(session.sparkContext());
  }
}
