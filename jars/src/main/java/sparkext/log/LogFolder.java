// SPDX-License-Identifier: Apache-2.0
package sparkext.log;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/**
 * Every file in a table's {@code _delta_log}, whether readers of the table look at it or not.
 *
 * <p>Source: Delta 4.4.0, FileNames.scala; MetadataCleanup.scala.
 */
record LogFolder(List<LogFolder.Found> files) {
  private static final Pattern COMMIT = Pattern.compile("(0*\\d{1,18})\\.json");
  private static final Pattern STAGED_COMMIT = Pattern.compile("(0*\\d{1,18})\\.[^.]+\\.json");
  private static final Pattern COMPACTION =
      Pattern.compile("(?:0*\\d{1,18})\\.(0*\\d{1,18})\\.compacted\\.json");
  private static final Pattern CHECKPOINT =
      Pattern.compile("(0*\\d{1,18})\\.checkpoint(?:\\.[^.]+)*\\.(?:json|parquet)");
  private static final Pattern CHECKSUM = Pattern.compile("(0*\\d{1,18})\\.crc");
  private static final Pattern HADOOP_CHECKSUM = Pattern.compile("\\..+\\.crc");
  private static final List<String> NOTES = List.of("_last_checkpoint", "_last_vacuum_info");
  private static final String SIDECARS = "_sidecars";
  private static final String STAGED = "_staged_commits";

  /** What a file is for; their names are those of {@code spark_ext/log/places.py}. */
  enum Kind {
    COMMIT,
    CHECKPOINT,
    CHECKSUM,
    OTHER
  }

  /**
   * A file that has something in it.
   *
   * @param version null where its name has none
   * @param time at which it was last modified, in milliseconds since the epoch
   * @param problem why it cannot be read, or null
   */
  record Found(Path path, Kind kind, Long version, long time, boolean isInside, String problem) {
    boolean isParquet() {
      return path.getName().endsWith(".parquet");
    }
  }

  static LogFolder of(Path table, Configuration configuration, long lastVersion)
      throws IOException {
    Path folder = new Path(table, "_delta_log");
    FileSystem storage = folder.getFileSystem(configuration);
    List<Found> found = new ArrayList<>();
    add(storage, folder, "", lastVersion, found);
    return new LogFolder(found);
  }

  /** The files that log cleanup lists before a checkpoint. */
  long newestBefore(long version) {
    return files.stream()
        .filter(file -> !file.isInside() && file.kind() != Kind.OTHER)
        .filter(file -> file.version() != null && file.version() < version)
        .mapToLong(Found::time)
        .max()
        .orElse(0);
  }

  private static void add(
      FileSystem storage, Path folder, String inside, long lastVersion, List<Found> found)
      throws IOException {
    for (FileStatus file : list(storage, folder)) {
      String name = file.getPath().getName();
      if (file.isDirectory()) {
        add(storage, file.getPath(), inside + name + "/", lastVersion, found);
      } else if (file.getLen() > 0 && !HADOOP_CHECKSUM.matcher(name).matches()) {
        found.add(found(file, inside, lastVersion));
      }
    }
  }

  private static Found found(FileStatus file, String inside, long lastVersion) {
    String name = file.getPath().getName();
    String problem = null;
    Kind kind = Kind.OTHER;
    Long version = null;
    Matcher matcher;
    if (inside.equals(SIDECARS + "/")) {
      kind = Kind.CHECKPOINT;
      matcher = CHECKPOINT.matcher(name);
      version = matcher.matches() ? Long.valueOf(matcher.group(1)) : null;
      problem = name.endsWith(".parquet") ? null : "it is no sidecar";
    } else if (isCommit(name, inside)) {
      kind = Kind.COMMIT;
      version = Long.valueOf(name.substring(0, name.indexOf('.')));
      // The columns of such a commit are those of no version that is known here.
      problem = version > lastVersion ? "it is of a version that is not read" : null;
    } else if (!inside.isEmpty()) {
      problem = "it is in a folder that is none of Delta's";
    } else if ((matcher = COMPACTION.matcher(name)).matches()) {
      version = Long.valueOf(matcher.group(1));
    } else if ((matcher = CHECKPOINT.matcher(name)).matches()) {
      kind = Kind.CHECKPOINT;
      version = Long.valueOf(matcher.group(1));
    } else if ((matcher = CHECKSUM.matcher(name)).matches()) {
      kind = Kind.CHECKSUM;
      version = Long.valueOf(matcher.group(1));
    } else if (!NOTES.contains(name)) {
      problem = "nothing of Delta is called so";
    }
    return new Found(
        file.getPath(), kind, version, file.getModificationTime(), !inside.isEmpty(), problem);
  }

  private static boolean isCommit(String name, String inside) {
    return inside.isEmpty()
        ? COMMIT.matcher(name).matches()
        : inside.equals(STAGED + "/") && STAGED_COMMIT.matcher(name).matches();
  }

  private static FileStatus[] list(FileSystem storage, Path folder) throws IOException {
    try {
      return storage.listStatus(folder);
    } catch (FileNotFoundException none) {
      return new FileStatus[0];
    }
  }
}
