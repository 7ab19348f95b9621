// SPDX-License-Identifier: Apache-2.0
package sparkext.parquet;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.NoSuchFileException;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.ServiceConfigurationError;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileAlreadyExistsException;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.StreamCapabilities;
import org.apache.hadoop.fs.UnsupportedFileSystemException;
import org.apache.hadoop.fs.permission.FsPermission;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Opens, creates and lists files on the storages of a task. All threads of the task share an
 * instance, which finds each file system and creates each folder once.
 */
public final class Storages {
  private static final Logger LOG = LoggerFactory.getLogger(Storages.class);

  /** The length up to which all of a file is read to read its footer. */
  public static final long SMALL = 256 << 10;

  /** To copy a file of up to 5 MiB, one request reads the file, except from a local disk. */
  private static final int SMALL_FACTOR_ELSEWHERE = 20;

  private static final Set<String> OBJECT_STORES = Set.of("s3a", "s3", "gs");

  private final Configuration configuration;
  private final long small;
  private final Map<String, FileSystem> found = new ConcurrentHashMap<>();
  private final Map<FileSystem, Optional<RangeStore>> stores = new ConcurrentHashMap<>();
  private final Set<Path> folders = ConcurrentHashMap.newKeySet();
  private final BufferLock bufferLock = new BufferLock();
  private volatile Set<PosixFilePermission> permissions;
  private final Function<FileSystem, Optional<RangeStore>> findStore;

  /** Finds storages by a Hadoop configuration. No store copies ranges of files. */
  public Storages(Configuration configuration) {
    this(configuration, /* findStore= */ null, SMALL);
  }

  /**
   * Finds storages by a Hadoop configuration.
   *
   * @param findStore null if no store copies ranges of files
   * @param small as {@link #SMALL}
   */
  public Storages(
      Configuration configuration,
      Function<FileSystem, Optional<RangeStore>> findStore,
      long small) {
    this.configuration = configuration;
    this.findStore = findStore;
    this.small = small;
  }

  /**
   * Opens a file to read its footer.
   *
   * @param size of the file according to the log
   * @throws UnreadableFileException if the file is small, and shorter than {@code size}
   * @throws MissingFileException if the file does not exist, and the storage reports this at once
   */
  InputFile open(Path path, long size) throws IOException {
    return open(path, size, small);
  }

  /** Opens a file to read all of it, and throws as {@link #open}. */
  InputFile openWhole(Path path, long size) throws IOException {
    return open(path, size, readAtOnce(path));
  }

  /** Returns whether all of a file is read by one request. */
  boolean isReadAtOnce(Path path, long size) throws IOException {
    return size <= readAtOnce(path);
  }

  private long readAtOnce(Path path) throws IOException {
    return LocalDisk.has(of(path)) ? small : small * SMALL_FACTOR_ELSEWHERE;
  }

  private InputFile open(Path path, long size, long atOnce) throws IOException {
    FileSystem storage = of(path);
    InputFile file =
        LocalDisk.has(storage)
            ? LocalDisk.open(storage, path, size)
            : new HadoopFile(storage, path, size);
    if (size > atOnce) {
      return file;
    }
    try (file) {
      byte[] bytes = new byte[(int) Math.max(size, 0)];
      file.read(0, bytes);
      return new InputFile.InMemory(bytes);
    }
  }

  /**
   * Returns the file system of a path with a scheme.
   *
   * @throws UnknownStorageException if no class is configured for it, or the class fails to start
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

  /** Returns whether the storage of a path copies ranges of files without a download. */
  public boolean canCopy(Path path) throws IOException {
    try {
      return findStore != null && storeOf(of(path)).isPresent();
    } catch (UnknownStorageException unknown) {
      return false; // The error is reported for each file.
    }
  }

  /** Returns the store that copies the source to the target, if the file is large enough. */
  Optional<RangeStore> storeOf(Path source, long size, Path target) throws IOException {
    FileSystem storage = of(target);
    return of(source) == storage
        ? storeOf(storage).filter(store -> size > store.leastCopied())
        : Optional.empty();
  }

  private Optional<RangeStore> storeOf(FileSystem storage) {
    return findStore == null ? Optional.empty() : stores.computeIfAbsent(storage, findStore);
  }

  /** Lets one thread at a time copy a large file through buffers. */
  BufferLock bufferLock() {
    return bufferLock;
  }

  /** Logs that a store refused a copy. If the store refuses all, no other copy is requested. */
  void refused(Path target, StoreRefusedException by) throws IOException {
    if (by.isForAll()) {
      LOG.warn("Executors copy files, because the store refuses to copy them", by);
      stores.put(of(target), Optional.empty());
    } else {
      LOG.warn("An executor copies {}, because the store refused", target, by);
    }
  }

  /** Returns the lengths of the files in a folder whose names contain a text, by name. */
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

  /** Returns the permissions that Hadoop gives to a new file. */
  private Set<PosixFilePermission> permissions() {
    if (permissions == null) {
      FsPermission wanted =
          FsPermission.getFileDefault().applyUMask(FsPermission.getUMask(configuration));
      permissions = PosixFilePermissions.fromString(wanted.toString());
    }
    return permissions;
  }

  /** Returns whether folders are prefixes of keys, and an empty folder remains as an object. */
  public static boolean isObjectStore(FileSystem storage) {
    return OBJECT_STORES.contains(storage.getUri().getScheme());
  }

  /**
   * Creates a file and its folders. Hadoop creates folders itself.
   *
   * @throws FileAlreadyExistsException if the file exists; it is unchanged
   */
  OutputStream create(Path path) throws IOException {
    FileSystem storage = of(path);
    if (!LocalDisk.has(storage)) {
      return storage.create(path, false);
    }
    try {
      return createOnDisk(storage, path);
    } catch (java.nio.file.FileAlreadyExistsException exists) {
      throw new FileAlreadyExistsException(path + " already exists");
    }
  }

  private OutputStream createOnDisk(FileSystem storage, Path path) throws IOException {
    Path folder = path.getParent();
    boolean isNew = folders.add(folder);
    if (isNew) {
      storage.mkdirs(folder);
    }
    try {
      return LocalDisk.create(storage, path, permissions());
    } catch (NoSuchFileException removed) {
      if (isNew) {
        throw removed;
      }
      storage.mkdirs(folder);
      return LocalDisk.create(storage, path, permissions());
    }
  }

  /**
   * Removes an incomplete file. The stream is aborted before it is closed, because closing a stream
   * completes the file on an object store.
   *
   * @param failed the failure to write; failures of the removal are added to it
   */
  void remove(Path path, OutputStream stream, Throwable failed) {
    try {
      Uninterrupted.run(() -> abortAndDelete(path, stream));
    } catch (IOException | RuntimeException besides) {
      failed.addSuppressed(besides);
    }
  }

  private void abortAndDelete(Path path, OutputStream stream) throws IOException {
    try (stream) {
      if (stream instanceof RangeStore.Upload upload) {
        upload.abort();
      } else if (stream instanceof FSDataOutputStream upload
          && upload.hasCapability(StreamCapabilities.ABORTABLE_STREAM)) {
        upload.abort();
      }
    } finally {
      of(path).delete(path, false);
    }
  }
}
