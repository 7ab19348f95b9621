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
import java.util.Objects;
import java.util.Set;
import java.util.UUID;
import java.util.regex.Pattern;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.paths.SparkPath;
import org.apache.spark.sql.catalyst.catalog.ExternalCatalogUtils;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.actions.Metadata;
import org.apache.spark.sql.delta.util.DeltaFileOperations;
import org.apache.spark.sql.delta.util.Utils;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import sparkext.error.UsageTrackingException;
import sparkext.parquet.Storages;
import sparkext.parquet.Uninterrupted;

/**
 * Where the copies of one run go: into folders {@code column=value}, as files of a table without
 * column mapping, or into random ones where the table wants those.
 *
 * <p>Source: Delta 4.4.0, DelayedCommitProtocol.scala, {@code newTaskTempFile}.
 */
public final class FilePlaces {
  private static final Logger LOG = LoggerFactory.getLogger(FilePlaces.class);

  /** Of a folder, on the file systems that people have. */
  private static final int MAX_NAME_LENGTH = 255;

  /** Of a whole path, on the object stores that people have; the name of a copy comes after it. */
  private static final int MAX_FOLDER_LENGTH = 900;

  /** Of the number in a name, at least. */
  private static final int DIGITS = 5;

  /** Of the first three parts of a UUID, each with the hyphen after it. */
  private static final int MARK_LENGTH = 19;

  /** Paths of the log that mean the same wherever they stand in a URI. */
  private static final Pattern PLAIN = Pattern.compile("[\\w.=-][\\w.=/-]*");

  /** As Delta's own random folders are. */
  private static final int SHORT_PREFIX_LENGTH = 2;

  private final Path table;
  private final Metadata metadata;
  private final int randomPrefixLength;

  private final UUID run = UUID.randomUUID();

  /** In the name of every copy of this run, and of no other file: the random half of a UUID. */
  private final String mark = run.toString().substring(0, MARK_LENGTH);

  /** Folders, with their URIs. */
  private final Map<Path, String> used = new LinkedHashMap<>();

  /** The places in a table, with column mapping or without it already. */
  public FilePlaces(Path table, Metadata metadata) {
    this.table = table;
    this.metadata = metadata;
    this.randomPrefixLength = Utils.getRandomPrefixLength(metadata);
  }

  /** The absolute path of a file that the log has. */
  public Path absolute(String path) {
    return DeltaFileOperations.absolutePath(table.toString(), path);
  }

  /** The URI of a file that the log has. */
  String uri(String path) {
    return PLAIN.matcher(path).matches() ? uri(table, path) : absolute(path).toUri().toString();
  }

  private static String uri(Path folder, String name) {
    String uri = folder.toUri().toString();
    return uri.endsWith("/") ? uri + name : uri + "/" + name;
  }

  /** The path for the log of a copy, whose URI is given. */
  public String relative(String copy) {
    String root = uri(table, "");
    if (copy.startsWith(root)
        && PLAIN.matcher(copy).region(root.length(), copy.length()).matches()) {
      return copy.substring(root.length());
    }
    return SparkPath.fromPath(new Path(belowTable(new Path(URI.create(copy))))).urlEncoded();
  }

  /** The path from the table's folder on; empty outside of it. */
  private String belowTable(Path path) {
    String folder = decoded(table) + (table.isRoot() ? "" : "/");
    String name = decoded(path);
    return name.startsWith(folder) ? name.substring(folder.length()) : "";
  }

  /** One text for each file: an authority may be empty or absent. */
  private static String decoded(Path path) {
    URI uri = path.toUri();
    String authority = uri.getAuthority() == null ? "" : uri.getAuthority();
    return uri.getScheme() + "://" + authority + uri.getPath();
  }

  public Path table() {
    return table;
  }

  /**
   * The URI of where a copy goes, to whose name a task adds its attempt and an ending.
   *
   * @param partitionValues in the order of the table's partition columns
   */
  public String target(int number, Map<String, String> partitionValues) {
    Path folder =
        randomPrefixLength > 0
            ? randomFolder(randomPrefixLength)
            : partitionFolder(partitionValues);
    String uri = used.computeIfAbsent(folder, first -> uri(first, "part-"));
    String digits = Integer.toString(number);
    return uri + "0".repeat(Math.max(0, DIGITS - digits.length())) + digits + "-" + run;
  }

  /**
   * The URI of where the deletion vector of a copy goes, without the last two parts of the UUID in
   * its name, which a task adds: beside the copy in a random folder, else in the table's.
   */
  String vectorTarget(String copy) {
    Path folder = randomPrefixLength > 0 ? new Path(URI.create(copy)).getParent() : table;
    used.computeIfAbsent(folder, first -> uri(first, "part-"));
    String uri = CopiedVectors.path(folder, run).toUri().toString();
    return uri.substring(0, uri.lastIndexOf(mark) + MARK_LENGTH);
  }

  /** The name of a copy by its URI, in which nothing is encoded. */
  public static String nameOf(String copy) {
    return copy.substring(copy.lastIndexOf('/') + 1);
  }

  /** The copies of this run on the storage, by their names, with their sizes. */
  public Map<String, Long> copies(Configuration configuration) {
    Map<String, Long> found = new HashMap<>();
    try {
      for (Path folder : used.keySet()) {
        found.putAll(copiesIn(folder, configuration));
      }
    } catch (IOException unreachable) {
      throw UsageTrackingException.sneakyThrow(unreachable);
    }
    return found;
  }

  /** Whether these files of the log are on the storage. */
  public boolean haveAll(List<AddFile> files, Configuration configuration) {
    for (AddFile file : files) {
      Path path = absolute(file.path());
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

  private Map<String, Long> copiesIn(Path folder, Configuration configuration) throws IOException {
    try {
      return Storages.lengths(folder.getFileSystem(configuration), folder, mark);
    } catch (FileNotFoundException | NoSuchFileException none) {
      return Map.of();
    }
  }

  /** Whether a file of the log is in another table's folder. */
  boolean isOutside(String path) {
    return !PLAIN.matcher(path).matches() && belowTable(absolute(path)).isEmpty();
  }

  /**
   * Whether a reader that takes partition values from folders would take wrong ones.
   *
   * @param oldValues under the names that the folders may have
   * @param newValues under those that readers look for
   */
  boolean isMisleading(String path, Map<String, String> oldValues, Map<String, String> newValues) {
    for (String folder : belowTable(absolute(path)).split("/")) {
      String[] named = folder.split("=", 2);
      String column = ExternalCatalogUtils.unescapePathName(named[0]);
      if (named.length == 2
          && !(oldValues.containsKey(column)
              && newValues.containsKey(column)
              && Objects.equals(oldValues.get(column), newValues.get(column)))) {
        return true;
      }
    }
    return false;
  }

  /**
   * Removes every copy of this run, and further files. What cannot be removed stays for VACUUM.
   *
   * @param others as the log would have them
   */
  public void removeAll(Set<String> others, Configuration configuration) {
    Uninterrupted.run(
        () -> {
          used.keySet().forEach(folder -> removeCopies(folder, configuration));
          remove(others, configuration);
          used.keySet().forEach(folder -> removeIfEmpty(folder, configuration));
        });
  }

  /** Ends the uploads of copies that tasks left. What cannot be ended is left to the store. */
  public void abortUploads(Configuration configuration) {
    Uninterrupted.run(
        () -> {
          try {
            Storages.abortUploads(table.getFileSystem(configuration), table, mark);
          } catch (IOException | RuntimeException notListed) {
            LOG.info("Uploads that were left, if any, stay: {}", notListed.toString());
          }
        });
  }

  /**
   * Removes a folder that has nothing but what stands for it on an object store, which keeps it
   * once a file in it is removed. Elsewhere a folder may be that of a writer who is about to use
   * it.
   */
  private void removeIfEmpty(Path folder, Configuration configuration) {
    try {
      FileSystem storage = folder.getFileSystem(configuration);
      Path left = folder;
      while (Storages.isObjectStore(storage)
          && !left.equals(table)
          && storage.delete(left, false)) {
        left = left.getParent();
      }
    } catch (IOException | RuntimeException notEmpty) {
      LOG.debug("{} stays: {}", folder, notEmpty.toString());
    }
  }

  /** Removes files of the log. What cannot be removed stays for VACUUM. */
  public void remove(Set<String> paths, Configuration configuration) {
    Uninterrupted.run(() -> paths.forEach(path -> remove(absolute(path), configuration)));
  }

  private static void remove(Path file, Configuration configuration) {
    try {
      file.getFileSystem(configuration).delete(file, /* recursive= */ false);
    } catch (IOException | RuntimeException notRemoved) {
      LOG.warn("{} stays until VACUUM: {}", file, notRemoved.toString());
    }
  }

  private void removeCopies(Path folder, Configuration configuration) {
    try {
      for (String name : copiesIn(folder, configuration).keySet()) {
        remove(new Path(folder, name), configuration);
      }
    } catch (IOException | RuntimeException notListed) {
      LOG.warn("Copies in {} stay until VACUUM: {}", folder, notListed.toString());
    }
  }

  private Path partitionFolder(Map<String, String> values) {
    Path folder = table;
    for (Map.Entry<String, String> value : values.entrySet()) {
      String name = ExternalCatalogUtils.getPartitionPathString(value.getKey(), value.getValue());
      if (name.getBytes(UTF_8).length > MAX_NAME_LENGTH
          || name.indexOf('\0') >= 0
          || isHidden(value.getKey())) {
        return randomFolder(SHORT_PREFIX_LENGTH);
      }
      folder = new Path(folder, name);
    }
    return folder.toString().getBytes(UTF_8).length > MAX_FOLDER_LENGTH
        ? randomFolder(SHORT_PREFIX_LENGTH)
        : folder;
  }

  /**
   * Whether VACUUM would pass over folders of a column, as over all with such names but those of
   * the table's columns.
   *
   * <p>Source: Delta 4.4.0, DeltaTableUtils, {@code isHiddenDirectory}.
   */
  private boolean isHidden(String column) {
    return (column.startsWith("_") || column.startsWith("."))
        && !metadata.partitionColumns().contains(column);
  }

  private Path randomFolder(int length) {
    return new Path(table, Utils.getRandomPrefix(length));
  }
}
