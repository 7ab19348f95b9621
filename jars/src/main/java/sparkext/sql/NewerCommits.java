// SPDX-License-Identifier: Apache-2.0
package sparkext.sql;

import java.sql.Timestamp;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.actions.Action;
import org.apache.spark.sql.delta.actions.CommitInfo;
import org.apache.spark.sql.types.StructType;
import scala.Tuple2;
import scala.collection.Iterator;
import sparkext.delta.CommitActions;
import sparkext.delta.DeltaShims;
import sparkext.wire.Relation;

/**
 * The commits of a table after a version. Delta's {@code DESCRIBE HISTORY} takes no name in a
 * nested schema, and runs a Spark job, which many tables at a time cannot afford.
 *
 * <p>Source: Delta 4.4.0, DeltaHistoryManager.scala, {@code getHistory}.
 */
final class NewerCommits {
  static final StructType SCHEMA =
      StructType.fromDDL(
          "`version` BIGINT, `timestamp` TIMESTAMP, `operation` STRING,"
              + " `operationMetrics` MAP<STRING, STRING>");

  private NewerCommits() {}

  /** Returns a row for each commit, the newest first; without an operation if none is known. */
  static Relation of(NamedTable table, long version) {
    Snapshot snapshot = table.snapshot();
    Configuration configuration = snapshot.deltaLog().newDeltaHadoopConf();
    List<Row> rows = new ArrayList<>();
    Iterator<Tuple2<Object, FileStatus>> commits =
        DeltaShims.getChangeLogFiles(
            snapshot.deltaLog(), version + 1, table.catalogTable(), /* failOnDataLoss= */ false);
    while (commits.hasNext()) {
      Tuple2<Object, FileStatus> commit = commits.next();
      if ((long) commit._1() <= snapshot.version()) {
        rows.add(row((long) commit._1(), commit._2(), configuration));
      }
    }
    Collections.reverse(rows);
    return new Relation(SCHEMA, rows);
  }

  private static Row row(long version, FileStatus commit, Configuration configuration) {
    long time = commit.getModificationTime();
    for (Action action :
        CommitActions.of(commit.getPath(), configuration, line -> line.contains("commitInfo"))
            .actions()) {
      if (action instanceof CommitInfo info) {
        return RowFactory.create(
            version,
            new Timestamp(info.inCommitTimestamp().map(each -> (long) each).getOrElse(() -> time)),
            info.operation(),
            info.operationMetrics().getOrElse(() -> null));
      }
    }
    return RowFactory.create(version, new Timestamp(time), null, null);
  }
}
