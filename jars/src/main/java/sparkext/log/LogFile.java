// SPDX-License-Identifier: Apache-2.0
package sparkext.log;

import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;

/**
 * A file in a table's {@code _delta_log}.
 *
 * <p>Source: Protocol, "File Types"; Delta 4.4.0, FileNames.scala.
 *
 * @param folder the folder below {@code _delta_log} that contains the file; empty for none
 * @param version null if the name contains none; the last version of a log compaction file
 * @param firstVersion null for all but log compaction files
 * @param parts the number of files that the checkpoint consists of
 * @param time of the last modification, in milliseconds since the epoch
 */
record LogFile(
    Path path,
    String folder,
    Kind kind,
    Long version,
    Long firstVersion,
    int parts,
    long length,
    long time) {
  static final String SIDECARS = "_sidecars";
  static final String STAGED_COMMITS = "_staged_commits";

  private static final String VERSION = "(00\\d{18})";
  private static final String UUID = "[0-9a-f-]{36}";
  private static final List<Form> FORMS =
      List.of(
          new Form("", Kind.COMMIT, VERSION + "\\.json"),
          new Form(STAGED_COMMITS, Kind.COMMIT, VERSION + "\\.[^.]+\\.json"),
          new Form("", Kind.CHECKPOINT, VERSION + "\\.checkpoint\\.parquet"),
          new Form("", Kind.CHECKPOINT, VERSION + "\\.checkpoint\\.\\d{10}\\.(\\d{10})\\.parquet"),
          new Form(
              "", Kind.CHECKPOINT, VERSION + "\\.checkpoint\\." + UUID + "\\.(?:json|parquet)"),
          new Form(SIDECARS, Kind.CHECKPOINT, "(?:" + VERSION + "\\.checkpoint\\.)?.*\\.parquet"),
          new Form("", Kind.CHECKSUM, VERSION + "\\.crc"),
          new Form("", Kind.OTHER, VERSION + "\\." + VERSION + "\\.compacted\\.json"),
          new Form("", Kind.OTHER, "_last_checkpoint|_last_vacuum_info"));

  /** The purpose of a file. */
  enum Kind {
    COMMIT,
    CHECKPOINT,
    CHECKSUM,
    OTHER,
    /** Delta gives no file such a name. */
    UNKNOWN
  }

  /** A name that Delta gives to files; the first group is the version, or the first version. */
  private record Form(String folder, Kind kind, Pattern name) {
    Form(String folder, Kind kind, String name) {
      this(folder, kind, Pattern.compile(name));
    }
  }

  /** Returns the file of a listing. */
  static LogFile of(FileStatus file, String folder) {
    for (Form form : FORMS) {
      Matcher name = form.name().matcher(file.getPath().getName());
      if (form.folder().equals(folder) && name.matches()) {
        Long first = name.groupCount() > 0 && name.group(1) != null ? number(name, 1) : null;
        Long second = name.groupCount() > 1 ? number(name, 2) : null;
        boolean isCompaction = form.kind() == Kind.OTHER && second != null;
        return new LogFile(
            file.getPath(),
            folder,
            form.kind(),
            isCompaction ? second : first,
            isCompaction ? first : null,
            isCompaction || second == null ? 1 : second.intValue(),
            file.getLen(),
            file.getModificationTime());
      }
    }
    return new LogFile(
        file.getPath(),
        folder,
        Kind.UNKNOWN,
        null,
        null,
        1,
        file.getLen(),
        file.getModificationTime());
  }

  private static long number(Matcher name, int group) {
    return Long.parseLong(name.group(group));
  }

  /** Returns the same file with another time. */
  LogFile at(long newTime) {
    return new LogFile(path, folder, kind, version, firstVersion, parts, length, newTime);
  }

  /** Returns whether log cleanup deletes the file, by its version. */
  boolean isVersioned() {
    return kind != Kind.OTHER && kind != Kind.UNKNOWN;
  }

  /** Returns whether this is a commit after the last version, which no reader uses yet. */
  boolean isAfter(long lastVersion) {
    return kind == Kind.COMMIT && version > lastVersion;
  }

  /** Returns whether nobody reads the file, so that its content is unknown. */
  boolean isUnknown(long lastVersion) {
    return kind == Kind.UNKNOWN || isAfter(lastVersion);
  }

  boolean isIn(String aFolder) {
    return folder.equals(aFolder);
  }
}
