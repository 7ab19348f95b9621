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
 * The commits that a table's catalog has accepted, and that are not yet published in the log's
 * folder. Other staged files may be of failed commits, so Delta lists the accepted ones.
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

  /** Returns a reader of the table, with the staged commits of a version that Delta has read. */
  static TableReading reading(SparkSession session, Snapshot snapshot) throws IOException {
    DeltaLog log = snapshot.deltaLog();
    return new TableReading(session, log.newDeltaHadoopConf(), log.dataPath(), of(snapshot));
  }
}
