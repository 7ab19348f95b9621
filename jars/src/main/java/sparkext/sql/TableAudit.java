// SPDX-License-Identifier: Apache-2.0
package sparkext.sql;

import java.io.IOException;
import java.util.List;
import org.apache.spark.sql.AnalysisException;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.classic.Dataset$;
import org.apache.spark.sql.classic.SparkSession;
import sparkext.error.UsageTrackingException;
import sparkext.log.LoggedTable;
import sparkext.log.TableLog;
import sparkext.wire.MetadataRules;
import sparkext.wire.Question;
import sparkext.wire.Relation;

/** What is wrong with a table, by what lies there, which Delta may not be able to open. */
public final class TableAudit {
  private TableAudit() {}

  /**
   * The findings. A table whose newest commits are staged has to be one that Delta opens.
   *
   * @param sample of so many data files the footers are read; null for all
   * @throws UsageTrackingException DELTA_MISSING_DELTA_TABLE; USAGE_TRACKING_UNREADABLE_LOG
   */
  static Relation of(SparkSession session, String name, Integer sample)
      throws UsageTrackingException, IOException, AnalysisException {
    TablePlace place = TablePlace.of(session, name);
    LoggedTable table = new LoggedTable(session, place.configuration(), place.path(), List.of());
    if (table.hasStaged()) {
      table = StagedCommits.log(session, place.newest().get());
    }
    if (table.isMissing()) {
      throw NamedTable.missing(name);
    }
    TableLog log = table.metadataAndFiles(sample);
    return MetadataRules.relation("column_mapping_audit", new Question.NamedLog(name, log));
  }

  /**
   * The findings for a session that has our jar and not our extension, {@code
   * spark_ext/api/audit.py}.
   *
   * @param sample negative for all
   */
  public static Dataset<Row> rows(SparkSession session, String name, int sample) {
    return Dataset$.MODULE$.ofRows(
        session,
        AnswerPlan.of("column_mapping_audit", () -> of(session, name, sample < 0 ? null : sample)));
  }
}
