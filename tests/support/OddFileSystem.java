// SPDX-License-Identifier: Apache-2.0
import java.io.*;
import java.nio.file.*;
import org.apache.hadoop.fs.*;
import org.apache.hadoop.fs.Path;

/**
 * Serves the local disk under another scheme, with faults. Tests write a file for each fault into
 * the folder that the system property `odd.folder` names.
 *
 * <p>`fail-N`: the write of a new data file fails after some bytes, and deletes `fail-N`. If a
 * `spare-N` exists, the write deletes the `spare-N` and succeeds. `gate`: while this file exists,
 * one new data file is not closed, and the file `waiting` exists.
 *
 * <p>The system property `odd.lists` counts the listings of logs. A folder `lost-class` fails as a
 * storage whose SDK is not on the class path.
 */
public class OddFileSystem extends LocalStorage {
  @Override
  public String getScheme() {
    return "odd";
  }

  @Override
  public FileStatus getFileStatus(Path path) throws IOException {
    if (path.toString().contains("/lost-class/")) {
      throw new NoClassDefFoundError("sdk/of/the/Storage");
    }
    return super.getFileStatus(path);
  }

  @Override
  public FileStatus[] listStatus(Path path) throws IOException {
    if (path.getName().equals("_delta_log")) {
      countList();
    }
    return super.listStatus(path);
  }

  private static synchronized void countList() {
    System.setProperty("odd.lists", String.valueOf(Integer.getInteger("odd.lists", 0) + 1));
  }

  @Override
  FSDataOutputStream wrapped(Path path, FSDataOutputStream file) throws IOException {
    String folder = System.getProperty("odd.folder");
    if (folder == null || !path.getName().startsWith("part-")) {
      return file;
    }
    boolean fails = takeFailure(Paths.get(folder));
    OutputStream odd =
        new FilterOutputStream(file) {
          @Override
          public void write(byte[] bytes, int start, int length) throws IOException {
            if (fails) {
              out.write(bytes, start, Math.min(length, 3));
              throw new IOException("The disk is odd");
            }
            out.write(bytes, start, length);
          }

          @Override
          public void close() throws IOException {
            java.nio.file.Path gate = Paths.get(folder, "gate");
            if (!fails && Files.exists(gate) && isFirst(Paths.get(folder, "waiting"))) {
              while (Files.exists(gate)) {
                try {
                  Thread.sleep(10);
                } catch (InterruptedException killed) {
                  super.close();
                  throw new InterruptedIOException("odd");
                }
              }
            }
            super.close();
          }
        };
    return new FSDataOutputStream(odd, null);
  }

  private static boolean isFirst(java.nio.file.Path mark) throws IOException {
    try {
      Files.createFile(mark);
      return true;
    } catch (java.nio.file.FileAlreadyExistsException another) {
      return false;
    }
  }

  private static synchronized boolean takeFailure(java.nio.file.Path folder) throws IOException {
    return !take(folder, "spare-*") && take(folder, "fail-*");
  }

  private static boolean take(java.nio.file.Path folder, String glob) throws IOException {
    try (DirectoryStream<java.nio.file.Path> found = Files.newDirectoryStream(folder, glob)) {
      for (java.nio.file.Path file : found) {
        return Files.deleteIfExists(file);
      }
    }
    return false;
  }
}
