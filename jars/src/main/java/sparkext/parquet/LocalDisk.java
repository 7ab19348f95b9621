// SPDX-License-Identifier: Apache-2.0
package sparkext.parquet;

import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;

/** Storages whose files the JVM can open by itself. */
final class LocalDisk {
  /** Hadoop's, and Hive's, which differs in renaming only and is the one in Spark with Hive. */
  private static final Set<String> STORAGES =
      Set.of(LocalFileSystem.class.getName(), "org.apache.hadoop.hive.ql.io.ProxyLocalFileSystem");

  private LocalDisk() {}

  /** Not what else is derived from Hadoop's: that may do more than read and write. */
  static boolean has(FileSystem storage) {
    return STORAGES.contains(storage.getClass().getName())
        && ((LocalFileSystem) storage).getRaw().getClass() == RawLocalFileSystem.class
        && FileSystems.getDefault().supportedFileAttributeViews().contains("posix");
  }

  /** Without what Hadoop asks of each file of a folder, and copies are among as many others. */
  static Map<String, Long> lengths(FileSystem storage, Path folder, String inName)
      throws IOException {
    Map<String, Long> found = new HashMap<>();
    try (DirectoryStream<java.nio.file.Path> files =
        Files.newDirectoryStream(
            file(storage, folder), file -> file.getFileName().toString().contains(inName))) {
      for (java.nio.file.Path file : files) {
        try {
          found.put(file.getFileName().toString(), Files.size(file));
        } catch (NoSuchFileException removed) {
          continue;
        }
      }
    } catch (DirectoryIteratorException failed) {
      throw failed.getCause();
    }
    return found;
  }

  static java.nio.file.Path file(FileSystem storage, Path path) {
    return ((LocalFileSystem) storage).pathToFile(path).toPath();
  }
}
