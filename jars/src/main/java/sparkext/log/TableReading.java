// SPDX-License-Identifier: Apache-2.0
package sparkext.log;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Predicate;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.ChecksumException;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.SparkThrowable;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.util.SerializableConfiguration;
import sparkext.common.FailedRead;
import sparkext.common.JobNames;
import sparkext.common.UsageTrackingErrors;
import sparkext.common.UsageTrackingException;
import sparkext.log.TableLog.ErasureStart;
import sparkext.log.TableLog.FileCount;
import sparkext.log.TableLog.Moment;

/**
 * Reads a table for the rule process, in Spark jobs and without Delta: another writer may have
 * written a log that Delta cannot read.
 *
 * <p>Commits are read twice if files are wanted, as Delta and delta-kernel-rs do. {@link LogJson}
 * reads the metadata and the versions that change the metadata. {@link FileActions} then reads the
 * actions on files, and groups the files by these versions. A single reading would have to keep
 * every action on a file between the two jobs.
 *
 * <p>Source: Delta 4.4.0, Snapshot.scala, {@code protocolMetadataICTAndLMCReconstruction} and
 * {@code stateReconstruction}; delta-kernel-rs, log_segment.rs, {@code read_metadata}.
 */
public final class TableReading {
  /** The operations that may add files of an older version or of another table. */
  private static final Set<String> RESTORING = Set.of("RESTORE", "CLONE", "CONVERT");

  private final SparkSession session;
  private final JavaSparkContext context;
  private final Configuration configuration;
  private final Path table;
  private final List<FileStatus> staged;
  private LogFolder folder;

  /**
   * Lists the table's log.
   *
   * @param table its absolute path
   * @param staged commits that the table's catalog has accepted. The log's folder itself need not
   *     contain them.
   */
  public TableReading(
      SparkSession session, Configuration configuration, Path table, List<FileStatus> staged)
      throws IOException {
    this.session = session;
    this.context = JavaSparkContext.fromSparkContext(session.sparkContext());
    this.configuration = configuration;
    this.table = table;
    this.staged = staged;
    this.folder = LogFolder.of(table, configuration, staged);
  }

  /**
   * Returns whether staged commits follow the last version that is read here. They are valid only
   * if the table's catalog has accepted them.
   */
  public boolean hasStagedCommits() {
    return folder.hasStagedCommits();
  }

  /** Returns whether there is neither a commit nor a checkpoint. */
  public boolean isMissing() {
    return folder.isEmpty();
  }

  /** Returns the changes of the table's metadata. */
  public TableLog metadata() throws IOException {
    return described(
        "reads the log",
        () -> {
          LogFolder log = folder.forMetadata();
          return log(log, json(log.jsonFiles()), List.of());
        });
  }

  /**
   * Returns the changes of the table's metadata, and its live data files. A commit whose last line
   * is incomplete is read without that line.
   *
   * @param sample the number of files whose footers are read; null for all
   */
  public TableLog liveFiles(Integer sample) throws IOException {
    return described(
        "reads the log and footers",
        () -> {
          Map<Path, LogJson> json = json(folder.jsonFiles());
          List<Path> truncated =
              folder.commits().stream()
                  .map(LogFile::path)
                  .filter(file -> json.get(file).isTruncated())
                  .toList();
          TableLog log = log(folder, json, truncated);
          FileActions actions = actions(truncated);
          return log.with(actions.live(groups(actions, log, /* withSources= */ false), sample));
        });
  }

  /**
   * Returns the table's folder as seen from the moment since which its live files are clean.
   *
   * @param isHidden returns whether VACUUM ignores files and folders of a name
   * @param start returns what the metadata shows of the moment
   */
  public TableFolder folder(Predicate<String> isHidden, Function<TableLog, ErasureStart> start)
      throws IOException {
    return described(
        "reads the folder, the log and footers",
        () -> {
          LogFolder read = folder.forMetadata();
          Map<Path, LogJson> json = json(read.jsonFiles());
          TableLog log = log(read, json, List.of());
          ErasureStart begun = start.apply(log);
          Object[] restoring = restoring(read, json);
          FileActions actions = actions(List.of());
          Dataset<Row> history = actions.history(restoring).persist();
          try {
            Moment moment = actions.moment(history, begun.notBefore(folder), restoring);
            List<Row> listed = actions.folder().rows(isHidden);
            Row tombstones = actions.tombstones(history, moment);
            LogAge age = LogAge.of(folder, actions, moment.version());
            return new TableFolder(
                log.with(
                    actions.files(
                        history, listed, moment, groups(actions, log, /* withSources= */ true))),
                moment,
                actions.folder().otherTables(),
                age.all(),
                age.older(),
                age.unknown(),
                tombstones.getLong(0),
                tombstones.getLong(1),
                folder.cleanableFrom(moment.version()));
          } finally {
            history.unpersist();
          }
        });
  }

  /** Returns the versions that may add files which are older than the version. */
  private static Object[] restoring(LogFolder log, Map<Path, LogJson> json) {
    return log.commits().stream()
        .filter(commit -> mayRestore(json.get(commit.path())))
        .map(LogFile::version)
        .toArray();
  }

  /** A writer may omit {@code commitInfo} and its operation. */
  private static boolean mayRestore(LogJson commit) {
    return commit.actions().stream()
        .map(action -> action.path("commitInfo").path("operation").asText(""))
        .noneMatch(operation -> !operation.isEmpty() && !RESTORING.contains(operation));
  }

  /**
   * Returns the number, the size and the newest time of files that the log does not name.
   *
   * @param listed rows of {@link DataFolder}, listed before this reading
   */
  Row unnamed(List<Row> listed) throws IOException {
    return described("reads the log", () -> actions(List.of()).unnamed(listed));
  }

  private Map<Path, LogJson> json(Collection<Path> files) {
    return LogJson.of(context, configuration, files);
  }

  private FileActions actions(List<Path> truncated) throws IOException {
    return new FileActions(session, folder, new DataFolder(table, configuration), truncated);
  }

  private FileGroups groups(FileActions actions, TableLog log, boolean withSources) {
    return new FileGroups(
        actions.folder().root(),
        new SerializableConfiguration(configuration),
        log.metadataVersions(),
        withSources);
  }

  private interface Reading<T> {
    T read() throws IOException;
  }

  /** Reads the table again, with a new listing, if log cleanup deleted a file of the log. */
  private <T> T described(String doing, Reading<T> reading) throws IOException {
    while (true) {
      try {
        return JobNames.described(session.sparkContext(), table, doing, reading::read);
      } catch (Exception failed) { // Scala declares no checked exceptions
        LogFolder listed = folder;
        folder = isMissingFile(failed) ? LogFolder.of(table, configuration, staged) : listed;
        if (folder.isEmpty() || folder.paths().containsAll(listed.paths())) {
          throw asUnreadable(failed);
        }
      }
    }
  }

  private static boolean isMissingFile(Throwable failed) {
    return failed instanceof FileNotFoundException
        || (failed instanceof SparkThrowable known && "PATH_NOT_FOUND".equals(known.getCondition()))
        || (failed.getCause() != null && isMissingFile(failed.getCause()));
  }

  /** Throws USAGE_TRACKING_UNREADABLE_LOG if Spark or Hadoop cannot read a file of the log. */
  private RuntimeException asUnreadable(Exception failed) {
    FailedRead read = FailedRead.in(failed);
    if (read != null) {
      return UsageTrackingErrors.unreadableLog(read.file().toString(), read.reason()).sneakyThrow();
    }
    for (Throwable cause = failed; cause != null; cause = cause.getCause()) {
      if (cause instanceof ChecksumException) { // The message names the file.
        String log = new Path(table, LogFolder.NAME).toString();
        return UsageTrackingErrors.unreadableLog(log, FailedRead.firstLine(cause)).sneakyThrow();
      }
    }
    return UsageTrackingException.sneakyThrow(failed);
  }

  /**
   * Returns a log without data files.
   *
   * @param truncated the commits that may end with an incomplete line. In other files, such a line
   *     is an error.
   */
  private TableLog log(LogFolder log, Map<Path, LogJson> json, List<Path> truncated) {
    for (Path file : log.jsonFiles()) {
      LogJson read = json.get(file);
      boolean isCut = read.isTruncated() && !truncated.contains(file);
      if (isCut || read.problem() != null) {
        String problem = isCut ? "its last line is incomplete" : read.problem();
        throw UsageTrackingErrors.unreadableLog(file.toString(), problem).sneakyThrow();
      }
    }
    MetadataActions actions = new MetadataActions(session, log, json);
    List<TableLog.Commit> commits =
        log.commits().stream()
            .map(
                commit ->
                    new TableLog.Commit(
                        commit.version(), commit.time(), actions.in(List.of(commit.path()))))
            .filter(commit -> commit.contains("metaData") || commit.contains("protocol"))
            .toList();
    return new TableLog(
        folder.lastVersion(),
        log.commits().isEmpty() ? null : log.commits().get(0).version(),
        log.lastCheckpointTarget(),
        truncated.stream().map(Path::getName).toList(),
        commits,
        summaries(log, actions),
        null);
  }

  private static List<TableLog.Summary> summaries(LogFolder log, MetadataActions actions) {
    List<TableLog.Summary> summaries = new ArrayList<>();
    for (LogFolder.Checkpoint checkpoint : log.checkpoints()) {
      String name = checkpoint.parts().get(0).getName();
      summaries.add(
          new TableLog.Summary(name, checkpoint.version(), null, actions.in(checkpoint.parts())));
    }
    for (LogFile compaction : log.compactions()) {
      summaries.add(
          new TableLog.Summary(
              compaction.path().getName(),
              compaction.version(),
              compaction.firstVersion(),
              actions.in(List.of(compaction.path()))));
    }
    return summaries;
  }

  /**
   * The files of a log: all of them, those with content of a version or an earlier one, and those
   * whose content is unknown.
   */
  record LogAge(FileCount all, FileCount older, List<String> unknown) {
    static LogAge of(LogFolder log, FileActions actions, long version) {
      Map<String, Long> sidecars = new HashMap<>();
      if (log.files().stream().anyMatch(file -> file.isIn(LogFile.SIDECARS))) {
        log.checkpoints() // by version
            .forEach(
                each ->
                    actions
                        .sidecars(each)
                        .forEach(path -> sidecars.put(path.getName(), each.version())));
      }
      FileCount all = FileCount.ZERO;
      FileCount older = FileCount.ZERO;
      List<String> unknown = new ArrayList<>();
      for (LogFile file : log.files()) {
        Long oldest = oldest(file, sidecars);
        // Delta's log cleanup never deletes log compaction files.
        boolean stays = file.firstVersion() != null && file.firstVersion() <= version;
        if (file.isUnknown(log.lastVersion()) || stays) {
          unknown.add(file.path().toString());
        } else if (oldest != null) {
          all = all.plus(file.length());
          older = oldest <= version ? older.plus(file.length()) : older;
        }
      }
      return new LogAge(all, older, unknown);
    }

    /**
     * Returns the oldest version whose actions a file may contain; null for {@code
     * _last_checkpoint} and {@code _last_vacuum_info}, which contain no actions.
     */
    private static Long oldest(LogFile file, Map<String, Long> sidecars) {
      if (file.isIn(LogFile.SIDECARS)) {
        return sidecars.getOrDefault(file.path().getName(), -1L);
      }
      return file.firstVersion() == null ? file.version() : file.firstVersion();
    }
  }

  /** The actions of a log that are not about files, by the file of the log that contains them. */
  static final class MetadataActions {
    private static final ObjectMapper MAPPER = new ObjectMapper();
    private static final StructType SCHEMA =
        StructType.fromDDL(
            "protocol STRUCT<minReaderVersion: INT, minWriterVersion: INT, readerFeatures:"
                + " ARRAY<STRING>, writerFeatures: ARRAY<STRING>>, metaData STRUCT<id: STRING,"
                + " schemaString: STRING, partitionColumns: ARRAY<STRING>, configuration: MAP<STRING,"
                + " STRING>>");

    private final Map<Path, List<JsonNode>> found = new HashMap<>();

    /**
     * Reads the checkpoints of a log that are Parquet files.
     *
     * @param json the JSON files of the log
     */
    MetadataActions(SparkSession session, LogFolder log, Map<Path, LogJson> json) {
      log.jsonFiles().forEach(file -> found.put(file, json.get(file).actions()));
      List<Path> checkpoints = log.parquetFiles();
      if (!checkpoints.isEmpty()) {
        Map<String, Path> byName = new HashMap<>();
        checkpoints.forEach(file -> byName.put(file.getName(), file));
        LogReader.parquet(session, SCHEMA, checkpoints)
            .where("protocol IS NOT NULL OR metaData IS NOT NULL")
            .selectExpr("_metadata.file_name", "to_json(struct(protocol, metaData))")
            .collectAsList()
            .forEach(row -> add(byName.get(row.getString(0)), row.getString(1)));
      }
    }

    /** Returns the actions of files, each as an object whose only key is the kind. */
    List<JsonNode> in(List<Path> files) {
      return files.stream().flatMap(file -> found.getOrDefault(file, List.of()).stream()).toList();
    }

    /** Adds the actions of a row of a checkpoint. */
    private void add(Path file, String row) {
      try {
        JsonNode actions = MAPPER.readTree(row);
        found.computeIfAbsent(file, none -> new ArrayList<>()).addAll(LogJson.actions(actions));
      } catch (JsonProcessingException impossible) {
        throw new IllegalStateException(impossible);
      }
    }
  }
}
