// SPDX-License-Identifier: Apache-2.0
package sparkext.command;

import java.io.IOException;
import java.net.URI;
import java.util.LinkedHashSet;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.UUID;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.paths.SparkPath;
import org.apache.spark.sql.catalyst.catalog.ExternalCatalogUtils;
import org.apache.spark.sql.delta.actions.Metadata;
import org.apache.spark.sql.delta.util.DeltaFileOperations;
import org.apache.spark.sql.delta.util.Utils;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import sparkext.parquet.Uninterrupted;

/**
 * Where the copies of one run go: into folders {@code column=value}, as files of a table without
 * column mapping, or into random ones where the table wants those.
 *
 * <p>Source: Delta 4.4.0, DelayedCommitProtocol.scala, {@code newTaskTempFile}.
 */
final class FilePlaces {
  private static final Logger LOG = LoggerFactory.getLogger(FilePlaces.class);

  private final Path table;
  private final Seq<String> partitionColumns;
  private final int randomPrefixLength;

  /** In the name of every copy of this run, and of no other file. */
  private final String run = UUID.randomUUID().toString();

  private final Set<Path> used = new LinkedHashSet<>();

  /**
   * The places in a table.
   *
   * @param metadata without column mapping
   */
  FilePlaces(Path table, Metadata metadata) {
    this.table = table;
    this.partitionColumns = metadata.partitionColumns();
    this.randomPrefixLength = Utils.getRandomPrefixLength(metadata);
  }

  /** The absolute path of a file that the log has. */
  Path absolute(String path) {
    return DeltaFileOperations.absolutePath(table.toString(), path);
  }

  /** The path for the log of a copy, whose URI is given. */
  String relative(String copy) {
    return SparkPath.fromPath(new Path(belowTable(new Path(URI.create(copy))))).urlEncoded();
  }

  /** The path from the table's folder on; empty outside of it. */
  private String belowTable(Path path) {
    String root = table.toUri().getPath();
    String folder = root.endsWith("/") ? root : root + "/";
    String name = path.toUri().getPath();
    return name.startsWith(folder) ? name.substring(folder.length()) : "";
  }

  /** Where a copy goes, to whose name a task adds its attempt and an ending. */
  Path target(int number, Map<String, String> partitionValues) {
    Path folder =
        randomPrefixLength > 0
            ? new Path(table, Utils.getRandomPrefix(randomPrefixLength))
            : partitionFolder(partitionValues);
    used.add(folder);
    return new Path(folder, String.format(Locale.ROOT, "part-%05d-%s", number, run));
  }

  /** Whether a file of the log is a copy of this run. */
  boolean isCopy(String path) {
    return path.contains(run);
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
  void removeAll(Set<String> others, Configuration configuration) {
    Uninterrupted.run(
        () -> {
          used.forEach(folder -> removeCopies(folder, configuration));
          others.forEach(path -> remove(absolute(path), configuration));
        });
  }

  private static void remove(Path file, Configuration configuration) {
    try {
      file.getFileSystem(configuration).delete(file, /* recursive= */ false);
    } catch (IOException notRemoved) {
      LOG.warn("{} stays until VACUUM: {}", file, notRemoved.toString());
    }
  }

  private void removeCopies(Path folder, Configuration configuration) {
    try {
      FileSystem fileSystem = folder.getFileSystem(configuration);
      if (fileSystem.exists(folder)) {
        for (FileStatus file :
            fileSystem.listStatus(folder, path -> path.getName().contains(run))) {
          fileSystem.delete(file.getPath(), /* recursive= */ false);
        }
      }
    } catch (IOException notRemoved) {
      LOG.warn("Copies in {} stay until VACUUM: {}", folder, notRemoved.toString());
    }
  }

  private Path partitionFolder(Map<String, String> values) {
    Path folder = table;
    for (String column : CollectionConverters.asJava(partitionColumns)) {
      String name = ExternalCatalogUtils.getPartitionPathString(column, values.get(column));
      folder = new Path(folder, name);
    }
    return folder;
  }
}
