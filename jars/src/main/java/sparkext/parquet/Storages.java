// SPDX-License-Identifier: Apache-2.0
package sparkext.parquet;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.NoSuchFileException;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;

/**
 * The storages of a task's files: asked for once, and so their folders, not for each small file.
 */
public final class Storages {
  private static final int SMALL = 256 << 10;

  private final Configuration configuration;
  private final int small;
  private final Map<String, FileSystem> found = new HashMap<>();
  private final Set<String> folders = new HashSet<>();
  private Set<PosixFilePermission> permissions;

  public Storages(Configuration configuration) {
    this(configuration, SMALL);
  }

  /**
   * Storages that read small files at once.
   *
   * @param small the length of files that are read at once, instead of in pieces
   */
  public Storages(Configuration configuration, int small) {
    this.configuration = configuration;
    this.small = small;
  }

  boolean isSmall(long size) {
    return size <= small;
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

  /** The files of a folder whose names have a part in common, with their lengths. */
  public static Map<String, Long> lengths(FileSystem storage, Path folder, String inName)
      throws IOException {
    if (LocalDisk.has(storage)) {
      return LocalDisk.lengths(storage, folder, inName);
    }
    Map<String, Long> found = new HashMap<>();
    for (FileStatus file : storage.listStatus(folder, path -> path.getName().contains(inName))) {
      found.put(file.getPath().getName(), file.getLen());
    }
    return found;
  }

  /** Those of a new file, as Hadoop gives them. */
  Set<PosixFilePermission> permissions() {
    if (permissions == null) {
      FsPermission wanted =
          FsPermission.getFileDefault().applyUMask(FsPermission.getUMask(configuration));
      permissions = PosixFilePermissions.fromString(wanted.toString());
    }
    return permissions;
  }

  /** How a file is created in a folder that is there. */
  interface Creation {
    OutputStream run() throws IOException;
  }

  /** Creates a file, and its folder where that is not there, or no more. */
  OutputStream inFolderOf(Path file, FileSystem storage, Creation creation) throws IOException {
    String path = file.toString();
    boolean isNew = folders.add(path.substring(0, path.lastIndexOf(Path.SEPARATOR_CHAR)));
    if (isNew) {
      storage.mkdirs(file.getParent());
    }
    try {
      return creation.run();
    } catch (FileNotFoundException | NoSuchFileException removed) {
      if (isNew) {
        throw removed;
      }
      storage.mkdirs(file.getParent());
      return creation.run();
    }
  }
}
