// SPDX-License-Identifier: Apache-2.0
package sparkext.parquet;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.channels.FileChannel;
import java.nio.file.NoSuchFileException;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.ServiceConfigurationError;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.UnsupportedFileSystemException;
import org.apache.hadoop.fs.permission.FsPermission;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import sparkext.s3.ObjectStores;
import sparkext.s3.OneByOne;
import sparkext.s3.S3Bucket;
import sparkext.s3.StoreRefusedException;

/**
 * The storages of a task's files: asked for once, and so their folders, not for each small file.
 * For all threads of the task.
 */
public final class Storages {
  private static final Logger LOG = LoggerFactory.getLogger(Storages.class);

  private static final long SMALL = 256 << 10;

  /** So many times as long are files that are read by one request: up to 5 MiB. */
  private static final int OPENED_AT_ONCE_ELSEWHERE = 20;

  private static final Set<String> OBJECT_STORES = Set.of("s3a", "s3", "gs");

  private final Configuration configuration;
  private final long small;
  private final Map<String, FileSystem> found = new ConcurrentHashMap<>();
  private final Map<FileSystem, Optional<S3Bucket>> buckets = new ConcurrentHashMap<>();
  private final Set<Path> folders = ConcurrentHashMap.newKeySet();
  private final OneByOne buffers = new OneByOne();
  private volatile Set<PosixFilePermission> permissions;
  private final boolean copy;

  /** Storages that are read, and written to. */
  public Storages(Configuration configuration) {
    this(configuration, /* copy= */ false);
  }

  /**
   * Storages of which some can copy.
   *
   * @param copy whether they do so where they can
   */
  public Storages(Configuration configuration, boolean copy) {
    this(configuration, copy, SMALL);
  }

  /**
   * Storages that read small files at once.
   *
   * @param small the length of files that are read at once, instead of in pieces; those that are
   *     copied from elsewhere than a local disk may be longer
   */
  public Storages(Configuration configuration, boolean copy, long small) {
    this.configuration = configuration;
    this.copy = copy;
    this.small = small;
  }

  /**
   * Opens a file to read its footer.
   *
   * @param size of it, as the table's log has it
   * @throws Source.EndException if it is small, and smaller than that
   * @throws Source.GoneException if there is none, and the storage says so by now
   */
  Source open(Path path, long size) throws IOException {
    return open(path, size, small);
  }

  /** Opens a file to read all of it; else as {@link #open}. */
  Source openWhole(Path path, long size) throws IOException {
    return open(path, size, readAtOnce(path));
  }

  /** Whether all of a file is read by one request. */
  boolean isReadAtOnce(Path path, long size) throws IOException {
    return size <= readAtOnce(path);
  }

  private long readAtOnce(Path path) throws IOException {
    return LocalDisk.has(of(path)) ? small : small * OPENED_AT_ONCE_ELSEWHERE;
  }

  private Source open(Path path, long size, long atOnce) throws IOException {
    Source file = open(of(path), path, size);
    if (size > atOnce) {
      return file;
    }
    try (file) {
      byte[] bytes = new byte[(int) Math.max(size, 0)];
      file.read(0, bytes);
      return new Source.InMemory(bytes);
    }
  }

  private static Source open(FileSystem storage, Path path, long size) throws IOException {
    try {
      return LocalDisk.has(storage)
          ? new Source.OfDisk(FileChannel.open(LocalDisk.file(storage, path)))
          : new StreamedFile(storage, path, size);
    } catch (NoSuchFileException missing) {
      throw new Source.GoneException();
    }
  }

  /**
   * That of a path with a scheme.
   *
   * @throws UnknownStorageException if there is no class for it, or none that starts
   */
  public FileSystem of(Path path) throws IOException {
    String root = path.toUri().getScheme() + "://" + path.toUri().getAuthority();
    FileSystem storage = found.get(root);
    if (storage == null) {
      storage = find(path);
      found.put(root, storage);
    }
    return storage;
  }

  private FileSystem find(Path path) throws IOException {
    try {
      return path.getFileSystem(configuration);
    } catch (UnsupportedFileSystemException
        | RuntimeException
        | LinkageError
        | ServiceConfigurationError unknown) {
      throw new UnknownStorageException(unknown);
    }
  }

  /** Whether the storage of a path copies by itself. */
  public boolean canCopy(Path path) throws IOException {
    try {
      return copy && bucketOf(of(path)).isPresent();
    } catch (UnknownStorageException unknown) {
      return false; // said of each file of it
    }
  }

  /** The store that can make one file of the other by itself, if it is worth it. */
  Optional<S3Bucket> bucketOf(Path source, long size, Path target) throws IOException {
    FileSystem storage = of(target);
    return copy && size > ObjectStores.LEAST_COPIED && of(source) == storage
        ? bucketOf(storage)
        : Optional.empty();
  }

  private Optional<S3Bucket> bucketOf(FileSystem storage) {
    return buckets.computeIfAbsent(storage, ObjectStores::bucketOf);
  }

  /** Large files go through the buffers of storages one by one. */
  OneByOne buffers() {
    return buffers;
  }

  /** Goes on without the store, for one file or for all, which is said once. */
  void refused(Path target, StoreRefusedException by) throws IOException {
    if (by.isForAll()) {
      LOG.warn("Files are read and written, for their store does not copy them", by);
      buckets.put(of(target), Optional.empty());
    } else {
      LOG.warn("{} is written, for its store did not copy it", target, by);
    }
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
  private Set<PosixFilePermission> permissions() {
    if (permissions == null) {
      FsPermission wanted =
          FsPermission.getFileDefault().applyUMask(FsPermission.getUMask(configuration));
      permissions = PosixFilePermissions.fromString(wanted.toString());
    }
    return permissions;
  }

  /** Whether folders are but names there, and stay as objects of their own once they are empty. */
  public static boolean isObjectStore(FileSystem storage) {
    return OBJECT_STORES.contains(storage.getUri().getScheme());
  }

  /**
   * Ends the uploads that tasks left, of files below a folder whose names have a part in common. No
   * listing shows them, and VACUUM does not find them.
   */
  public static void abortUploads(FileSystem storage, Path folder, String inName)
      throws IOException {
    Optional<S3Bucket> bucket = ObjectStores.bucketOf(storage);
    if (bucket.isPresent()) {
      bucket.get().abortUploads(folder, inName);
    }
  }

  /** A new file on a local disk, and its folder where that is not there, or no more. */
  OutputStream onDisk(FileSystem storage, Path path) throws IOException {
    Path folder = path.getParent();
    boolean isNew = folders.add(folder);
    if (isNew) {
      storage.mkdirs(folder);
    }
    try {
      return new DiskStream(LocalDisk.file(storage, path), permissions());
    } catch (NoSuchFileException removed) {
      if (isNew) {
        throw removed;
      }
      storage.mkdirs(folder);
      return new DiskStream(LocalDisk.file(storage, path), permissions());
    }
  }
}
