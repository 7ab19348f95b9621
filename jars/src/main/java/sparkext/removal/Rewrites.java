// SPDX-License-Identifier: Apache-2.0
package sparkext.removal;

import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.delta.OptimisticTransaction;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.actions.AddFile;
import scala.jdk.javaapi.CollectionConverters;

/** Rewrites files that cannot be copied, by the methods of Delta's command. */
final class Rewrites {
  private final SparkSession session;
  private final RemovalCommit commit;

  /** The paths in the log of all files that Delta has written. */
  private final Set<String> paths = new HashSet<>();

  /** A rewrite of files. Two rewrites are never equal, so that maps distinguish them. */
  static final class Rewrite {
    private final int numSources;
    private final List<AddFile> written;

    private Rewrite(int numSources, List<AddFile> written) {
      this.numSources = numSources;
      this.written = written;
    }

    int numSources() {
      return numSources;
    }

    /** Returns the sizes of the written files, by their paths in the log. */
    Map<String, Long> files() {
      return written.stream().collect(Collectors.toMap(AddFile::path, AddFile::size));
    }

    /** Returns the actions that add the written files. */
    List<AddFile> written() {
      return written;
    }
  }

  Rewrites(SparkSession session, RemovalCommit commit) {
    this.session = session;
    this.commit = commit;
  }

  /** Rewrites files of a version as Delta's command does, in a transaction without a commit. */
  Rewrite write(List<AddFile> sources, Snapshot snapshot) {
    OptimisticTransaction draft = commit.begin(snapshot);
    List<AddFile> written =
        CollectionConverters.asJava(
            commit
                .command()
                .writeData(
                    draft,
                    commit
                        .command()
                        .buildDataFrame(draft, CollectionConverters.asScala(sources).toList()),
                    commit.command().getDeltaOptionsForWrite(session)));
    written.forEach(file -> paths.add(file.path()));
    return new Rewrite(sources.size(), List.copyOf(written));
  }

  /** Returns the paths of all written files, including those that are no longer needed. */
  Set<String> paths() {
    return paths;
  }
}
