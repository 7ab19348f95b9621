// SPDX-License-Identifier: Apache-2.0
package sparkext.files;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.net.URI;
import java.nio.file.NoSuchFileException;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.function.Predicate;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.catalog.ExternalCatalogUtils;
import org.apache.spark.sql.delta.DeltaTableUtils;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.UniversalFormat;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.actions.Metadata;
import org.apache.spark.sql.delta.util.Utils;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import sparkext.common.UsageTrackingException;
import sparkext.parquet.Storages;
import sparkext.parquet.Uninterrupted;
import sparkext.s3.S3Store;

/**
 * Names the copies of one statement, lists them on the storage, and removes copies that no commit
 * needs. Copies of data files are in folders {@code column=value}, like the files of an unmapped
 * table. They are in random folders if the table has random prefixes, or if the storage or Delta
 * could not read the name of such a folder.
 *
 * <p>Source: Delta 4.4.0, DelayedCommitProtocol.scala, {@code newTaskTempFile}.
 */
public final class CopyPlaces {
  private static final Logger LOG = LoggerFactory.getLogger(CopyPlaces.class);

  /** The longest name of a folder on usual file systems, in bytes. */
  private static final int MAX_NAME_LENGTH = 255;

  /** The longest path of a folder, in bytes: object stores limit keys to 1,024 bytes. */
  private static final int MAX_FOLDER_LENGTH = 900;

  /** The minimum number of digits of the file number in the name of a copy. */
  private static final int DIGITS = 5;

  /** The length of the first three parts of a UUID, each with the hyphen after it. */
  private static final int MARK_LENGTH = 19;

  /** The length of Delta's own random prefixes. */
  private static final int SHORT_PREFIX_LENGTH = 2;

  private final TablePaths paths;
  private final HiddenFolders hidden;
  private final Configuration configuration;
  private final int randomPrefixLength;

  private final UUID run = UUID.randomUUID();

  /** The start of the UUID. Only the names of this statement's copies contain it. */
  private final String mark = run.toString().substring(0, MARK_LENGTH);

  /** The folders of copies, each with the URI at which the URIs of its copies begin. */
  private final Map<Path, String> uriPrefixes = new LinkedHashMap<>();

  public CopyPlaces(Snapshot table) {
    this.paths = new TablePaths(table.deltaLog().dataPath());
    this.hidden = new HiddenFolders(table.metadata());
    this.configuration = table.deltaLog().newDeltaHadoopConf();
    this.randomPrefixLength = Utils.getRandomPrefixLength(table.metadata());
  }

  public TablePaths paths() {
    return paths;
  }

  Configuration configuration() {
    return configuration;
  }

  /**
   * Returns the start of the URI of a copy. The task appends its attempt id and an ending.
   *
   * @param number the number of the file in this statement
   * @param partitionValues the values in the order of the table's partition columns
   */
  String target(int number, Map<String, String> partitionValues) {
    Path folder =
        randomPrefixLength > 0
            ? randomFolder(randomPrefixLength)
            : partitionFolder(partitionValues);
    String uri = uriPrefixes.computeIfAbsent(folder, first -> TablePaths.uri(first, "part-"));
    String digits = Integer.toString(number);
    return uri + "0".repeat(Math.max(0, DIGITS - digits.length())) + digits + "-" + run;
  }

  /**
   * Returns the start of the URI of a deletion vector's copy. The task appends the last two parts
   * of the UUID and an ending. The copy is in the table's folder, or in the random folder of the
   * data file's copy if the table has random prefixes.
   *
   * @param copy the URI of the data file's copy
   */
  String vectorTarget(String copy) {
    Path folder = randomPrefixLength > 0 ? new Path(URI.create(copy)).getParent() : paths.table();
    uriPrefixes.computeIfAbsent(folder, first -> TablePaths.uri(first, "part-"));
    String uri = CopiedVectors.path(folder, run).toUri().toString();
    return uri.substring(0, uri.lastIndexOf(mark) + MARK_LENGTH);
  }

  /** Returns the name of a copy from its URI. The name contains no encoded characters. */
  public static String nameOf(String copy) {
    return copy.substring(copy.lastIndexOf('/') + 1);
  }

  /** Returns the copies of this statement on the storage: the size in bytes by name. */
  public Map<String, Long> copies() {
    Map<String, Long> found = new HashMap<>();
    try {
      for (Path folder : uriPrefixes.keySet()) {
        found.putAll(copiesIn(folder));
      }
    } catch (IOException unreachable) {
      throw UsageTrackingException.sneakyThrow(unreachable);
    }
    return found;
  }

  /** Returns whether the storage contains all of these files. */
  public boolean haveAll(List<AddFile> files) {
    for (AddFile file : files) {
      Path path = paths.absolute(file.path());
      try {
        if (!path.getFileSystem(configuration).exists(path)) {
          return false;
        }
      } catch (IOException unreachable) {
        throw UsageTrackingException.sneakyThrow(unreachable);
      }
    }
    return true;
  }

  private Map<String, Long> copiesIn(Path folder) throws IOException {
    try {
      return Storages.lengths(folder.getFileSystem(configuration), folder, mark);
    } catch (FileNotFoundException | NoSuchFileException none) {
      return Map.of();
    }
  }

  /**
   * Removes every copy of this statement, and the files that Delta wrote for it. Files that cannot
   * be removed remain until VACUUM.
   *
   * @param written the paths of the files that Delta wrote, as the log has paths
   */
  public void removeAll(Set<String> written) {
    Uninterrupted.run(
        () -> {
          uriPrefixes.keySet().forEach(this::removeCopies);
          remove(written);
          uriPrefixes.keySet().forEach(this::removeIfEmpty);
        });
  }

  /**
   * Aborts the uploads that tasks of this statement began and did not end. If this fails, a
   * lifecycle rule of the store may abort the uploads later.
   */
  public void abortUploads() {
    Uninterrupted.run(
        () -> {
          try {
            Path table = paths.table();
            S3Store.abortUploads(table.getFileSystem(configuration), table, mark);
          } catch (IOException | RuntimeException notListed) {
            LOG.info("Unfinished uploads, if any, are not aborted: {}", notListed.toString());
          }
        });
  }

  /**
   * Removes a folder on an object store, and its parents in the table, if they are empty. After the
   * last file of a folder is removed, Hadoop writes an object that stands for the folder. On other
   * storages, empty folders are kept, because another writer may be about to use them.
   */
  private void removeIfEmpty(Path folder) {
    try {
      FileSystem storage = folder.getFileSystem(configuration);
      Path empty = folder;
      while (Storages.isObjectStore(storage)
          && !empty.equals(paths.table())
          && storage.delete(empty, false)) {
        empty = empty.getParent();
      }
    } catch (IOException | RuntimeException notEmpty) {
      LOG.debug("{} is kept: {}", folder, notEmpty.toString());
    }
  }

  /** Removes files by their paths in the log. Files that cannot be removed remain until VACUUM. */
  public void remove(Set<String> files) {
    Uninterrupted.run(() -> files.forEach(path -> remove(paths.absolute(path))));
  }

  private void remove(Path file) {
    try {
      file.getFileSystem(configuration).delete(file, /* recursive= */ false);
    } catch (IOException | RuntimeException notRemoved) {
      LOG.warn("{} remains until VACUUM: {}", file, notRemoved.toString());
    }
  }

  private void removeCopies(Path folder) {
    try {
      for (String name : copiesIn(folder).keySet()) {
        remove(new Path(folder, name));
      }
    } catch (IOException | RuntimeException notListed) {
      LOG.warn("Copies in {} remain until VACUUM: {}", folder, notListed.toString());
    }
  }

  private Path partitionFolder(Map<String, String> values) {
    Path folder = paths.table();
    for (Map.Entry<String, String> value : values.entrySet()) {
      String name = ExternalCatalogUtils.getPartitionPathString(value.getKey(), value.getValue());
      if (name.getBytes(UTF_8).length > MAX_NAME_LENGTH
          || name.indexOf('\0') >= 0 // of a BINARY value
          || hidden.test(name)) {
        return randomFolder(SHORT_PREFIX_LENGTH);
      }
      folder = new Path(folder, name);
    }
    return folder.toString().getBytes(UTF_8).length > MAX_FOLDER_LENGTH
        ? randomFolder(SHORT_PREFIX_LENGTH)
        : folder;
  }

  private Path randomFolder(int length) {
    return new Path(paths.table(), Utils.getRandomPrefix(length));
  }

  /**
   * Tests whether VACUUM of a table ignores files and folders with a given name.
   *
   * <p>Source: Delta 4.4.0, VacuumCommand.scala, {@code getFilesFromFilesystem}.
   *
   * @param table the newest metadata. VACUUM never ignores the folder of a present partition
   *     column, and may ignore the folder of a former one, such as {@code _p=1}.
   */
  public record HiddenFolders(Metadata table) implements Predicate<String> {
    @Override
    public boolean test(String name) {
      return DeltaTableUtils.isHiddenDirectory(
          table.partitionColumns(), name, UniversalFormat.icebergEnabled(table));
    }
  }
}
