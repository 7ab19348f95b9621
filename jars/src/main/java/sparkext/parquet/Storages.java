// SPDX-License-Identifier: Apache-2.0
package sparkext.parquet;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.NoSuchFileException;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/**
 * The storages of a task's files: asked for once, and so their folders, not for each small file.
 */
public final class Storages {
  private final Configuration configuration;
  private final Map<String, FileSystem> found = new HashMap<>();
  private final Set<Path> folders = new HashSet<>();

  public Storages(Configuration configuration) {
    this.configuration = configuration;
  }

  /** That of a path with a scheme. */
  public FileSystem of(Path path) throws IOException {
    String root = path.toUri().getScheme() + "://" + path.toUri().getAuthority();
    FileSystem storage = found.get(root);
    if (storage == null) {
      storage = path.getFileSystem(configuration);
      found.put(root, storage);
    }
    return storage;
  }

  Configuration configuration() {
    return configuration;
  }

  /** How a file is created in a folder that is there. */
  interface Creation {
    OutputStream run() throws IOException;
  }

  /** Creates a file, and its folder where that is not there, or no more. */
  OutputStream inFolder(Path folder, FileSystem storage, Creation creation) throws IOException {
    boolean isNew = folders.add(folder);
    if (isNew) {
      storage.mkdirs(folder);
    }
    try {
      return creation.run();
    } catch (FileNotFoundException | NoSuchFileException removed) {
      if (isNew) {
        throw removed;
      }
      storage.mkdirs(folder);
      return creation.run();
    }
  }
}
