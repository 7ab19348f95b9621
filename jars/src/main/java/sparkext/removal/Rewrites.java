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

/** Files whose bytes cannot be copied, and which Delta reads and writes row by row instead. */
final class Rewrites {
  private final SparkSession session;
  private final RemovalCommit commit;

  /** All that Delta has written, as its actions name it. */
  private final Set<String> paths = new HashSet<>();

  /** Files whose rows were written together. */
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

    /** The paths in the log, with the sizes. */
    Map<String, Long> files() {
      return written.stream().collect(Collectors.toMap(AddFile::path, AddFile::size));
    }

    /** With the rows of all. */
    List<AddFile> written() {
      return written;
    }
  }

  Rewrites(SparkSession session, RemovalCommit commit) {
    this.session = session;
    this.commit = commit;
  }

  /** Delta's way, for these files of a version alone, in a transaction that is never committed. */
  Rewrite write(List<AddFile> sources, Snapshot snapshot) {
    OptimisticTransaction never = commit.begin(snapshot);
    List<AddFile> written =
        CollectionConverters.asJava(
            commit
                .command()
                .writeData(
                    never,
                    commit
                        .command()
                        .buildDataFrame(never, CollectionConverters.asScala(sources).toList()),
                    commit.command().getDeltaOptionsForWrite(session)));
    written.forEach(file -> paths.add(file.path()));
    return new Rewrite(sources.size(), List.copyOf(written));
  }

  /** Everything that was written, also what is of no use any more. */
  Set<String> paths() {
    return paths;
  }
}
