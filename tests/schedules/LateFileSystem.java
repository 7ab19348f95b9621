// SPDX-License-Identifier: Apache-2.0
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Optional;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;

/**
 * Serves the local disk under the scheme {@code late}, and causes one fault on a table. The system
 * property {@code late.fault} names the fault.
 *
 * <p>{@code FAILED}: the log entry is written, and the write throws. {@code TAKEN}: the log entry is
 * written, and the answer is that the entry existed. {@code LATE}: a listing lacks the newest log
 * entry. {@code BROKEN}: a data file is written in part.
 *
 * <p>The property {@code late.hold} may contain a {@link Runnable}. It runs once, after a stream
 * wrote the end of a batch into its checkpoint.
 */
public class LateFileSystem extends LocalStorage {
  private static final String FAULT = "late.fault";

  @Override
  public String getScheme() {
    return "late";
  }

  @Override
  public boolean rename(Path from, Path to) throws IOException {
    boolean isRenamed = super.rename(from, to);
    if (isRenamed && isEntry(to)) {
      if (take("FAILED")) {
        throw new IOException("The storage is late");
      }
      if (take("TAKEN")) {
        throw new java.nio.file.FileAlreadyExistsException(to.toString());
      }
    }
    if (to.getParent().getName().equals("offsets")
        && System.getProperties().remove("late.hold") instanceof Runnable hold) {
      hold.run();
    }
    return isRenamed;
  }

  @Override
  public FileStatus[] listStatus(Path folder) throws IOException {
    FileStatus[] found = super.listStatus(folder);
    if (!folder.getName().equals("_delta_log") || !take("LATE")) {
      return found;
    }
    Optional<FileStatus> newest =
        Arrays.stream(found)
            .filter(file -> isEntry(file.getPath()))
            .max(Comparator.comparing(file -> file.getPath().getName()));
    return Arrays.stream(found)
        .filter(file -> newest.isEmpty() || file != newest.get())
        .toArray(FileStatus[]::new);
  }

  /** Returns a stream that breaks off, if that is the fault and the file contains data. */
  @Override
  FSDataOutputStream wrapped(Path file, FSDataOutputStream stream) throws IOException {
    if (!file.getName().startsWith("part-") || !take("BROKEN")) {
      return stream;
    }
    OutputStream breaking =
        new FilterOutputStream(stream) {
          @Override
          public void write(byte[] bytes, int start, int length) throws IOException {
            out.write(bytes, start, Math.min(length, 3));
            throw new IOException("The storage is late");
          }
        };
    return new FSDataOutputStream(breaking, null);
  }

  private static boolean isEntry(Path path) {
    return path.getParent().getName().equals("_delta_log")
        && path.getName().matches("\\d{20}\\.json");
  }

  private static synchronized boolean take(String fault) {
    boolean isWanted = fault.equals(System.getProperty(FAULT));
    if (isWanted) {
      System.clearProperty(FAULT);
    }
    return isWanted;
  }
}
