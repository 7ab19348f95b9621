// SPDX-License-Identifier: Apache-2.0
package sparkext.stale;

import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.actions.Action$;
import org.apache.spark.sql.delta.actions.Metadata;
import org.apache.spark.sql.delta.actions.Protocol;
import scala.Option;
import scala.Tuple2;
import scala.collection.Iterator;
import sparkext.error.UsageTrackingException;
import sparkext.feature.UsageTrackingFeature;
import sparkext.log.LogLines;

/** What the columns of a table were called in its files, version by version. */
final class NameHistory {
  private final List<State> states;

  private NameHistory(List<State> states) {
    this.states = states;
  }

  /** A table from a version on. */
  private record State(long version, Protocol protocol, Metadata metadata) {
    /** The table after a commit, of which the lines of metadata are given. */
    State next(long commit, List<String> lines) {
      Protocol newProtocol = protocol;
      Metadata newMetadata = metadata;
      for (String line : lines) {
        Object action = Action$.MODULE$.fromJson(line);
        if (action instanceof Metadata changed) {
          newMetadata = changed;
        } else if (action instanceof Protocol changed) {
          newProtocol = changed;
        }
      }
      return new State(commit, newProtocol, newMetadata);
    }

    /**
     * Whether nothing was dropped or renamed since the table began to be tracked, and each column
     * has its own name in the files: then no other column's values have a name there.
     */
    boolean isUnused() {
      return UsageTrackingFeature.isSupportedBy(protocol)
          && metadata.configuration().get(UsageTrackingFeature.FLAG).contains("false")
          && ColumnNames.of(metadata).areOwn();
    }
  }

  /**
   * That of some versions, both included, from the log's commits.
   *
   * @throws UsageTrackingException a failure of the storage, or of Delta where a commit is missing
   */
  static NameHistory of(
      SparkSession session,
      DeltaLog log,
      Option<CatalogTable> catalogTable,
      long first,
      long last) {
    Snapshot start =
        log.getSnapshotAt(
            first,
            Option.empty(),
            catalogTable,
            /* enforceTimeTravelWithinDeletedFileRetention= */ false);
    List<Path> commits = new ArrayList<>();
    Iterator<Tuple2<Object, FileStatus>> files =
        log.getChangeLogFiles(first + 1, catalogTable, /* failOnDataLoss= */ true);
    while (files.hasNext() && first + commits.size() < last) {
      commits.add(files.next()._2().getPath());
    }
    List<State> states = new ArrayList<>();
    states.add(new State(first, start.protocol(), start.metadata()));
    for (List<String> lines :
        LogLines.of(
            JavaSparkContext.fromSparkContext(session.sparkContext()),
            log.newDeltaHadoopConf(),
            commits)) {
      states.add(states.get(states.size() - 1).next(first + states.size(), lines));
    }
    return new NameHistory(states);
  }

  /**
   * The version from which on files may have the name of a column for another one, if there is any.
   *
   * <p>That takes column mapping to be switched off in between: while it is on, a name in files is
   * never given again. The columns that were there just before, and still have the same names, are
   * the same; what else there is now may have the name of one that was dropped before.
   */
  OptionalLong misleads(ColumnNames readers) {
    for (int i = 1; i < states.size(); i++) {
      State before = states.get(i - 1);
      State after = states.get(i);
      if (mayMislead(before.metadata(), after.metadata(), readers) && !before.isUnused()) {
        return OptionalLong.of(after.version());
      }
    }
    return OptionalLong.empty();
  }

  /** Whether column mapping was switched off, and there are columns now that were not there. */
  static boolean mayMislead(Metadata before, Metadata after, ColumnNames readers) {
    ColumnNames names = ColumnNames.of(before);
    return names.areMapped() && !ColumnNames.of(after).areMapped() && !readers.areIn(names);
  }
}
