// SPDX-License-Identifier: Apache-2.0
package sparkext.command;

import java.io.IOException;
import java.util.LinkedHashSet;
import java.util.Locale;
import java.util.Map;
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

  /** The path for the log of a copy. */
  String relative(String absolute) {
    String name = new Path(absolute).toUri().getPath();
    String root = table.toUri().getPath();
    Path inTable = new Path(name.substring(root.endsWith("/") ? root.length() : root.length() + 1));
    return SparkPath.fromPath(inTable).urlEncoded();
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

  /** Whether a reader that takes partition values from folders would take wrong ones. */
  boolean isMisleading(String path, Map<String, String> partitionValues) {
    for (Path folder = absolute(path).getParent();
        folder != null && !folder.equals(table) && folder.getName().length() > 0;
        folder = folder.getParent()) {
      String[] named = folder.getName().split("=", 2);
      if (named.length == 2 && isOther(named, partitionValues)) {
        return true;
      }
    }
    return false;
  }

  private boolean isOther(String[] named, Map<String, String> values) {
    String column = ExternalCatalogUtils.unescapePathName(named[0]);
    return !values.containsKey(column);
  }

  /** Removes every copy of this run. What cannot be removed stays for VACUUM. */
  void removeAll(Configuration configuration) {
    for (Path folder : used) {
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
