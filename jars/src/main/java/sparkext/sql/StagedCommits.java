// SPDX-License-Identifier: Apache-2.0
package sparkext.sql;

import java.io.IOException;
import java.util.List;
import org.apache.hadoop.fs.FileStatus;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.Snapshot;
import scala.jdk.javaapi.CollectionConverters;
import sparkext.log.TableReading;

/**
 * The commits of a table that a catalog has accepted, and that nobody has copied into the log's
 * folder yet. Files beside them may be of commits that failed, so that Delta is asked.
 *
 * <p>Source: Protocol, "Catalog-managed tables"; Delta 4.4.0, SnapshotManagement.scala, {@code
 * LogSegment}.
 */
final class StagedCommits {
  private StagedCommits() {}

  static List<FileStatus> of(Snapshot snapshot) {
    String folder = snapshot.deltaLog().logPath().getName();
    return CollectionConverters.asJava(snapshot.logSegment().deltas()).stream()
        .filter(commit -> !commit.getPath().getParent().getName().equals(folder))
        .toList();
  }

  /** Reads the table of a version that Delta has read. */
  static TableReading reading(SparkSession session, Snapshot snapshot) throws IOException {
    DeltaLog log = snapshot.deltaLog();
    return new TableReading(session, log.newDeltaHadoopConf(), log.dataPath(), of(snapshot));
  }
}
