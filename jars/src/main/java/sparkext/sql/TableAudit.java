// SPDX-License-Identifier: Apache-2.0
package sparkext.sql;

import java.io.IOException;
import java.util.List;
import org.apache.spark.sql.AnalysisException;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.Dataset$;
import org.apache.spark.sql.classic.SparkSession;
import sparkext.error.UsageTrackingException;
import sparkext.log.TableLog;
import sparkext.log.TableReading;
import sparkext.wire.MetadataRules;
import sparkext.wire.Question;

/** What is wrong with a table, by what lies there, which Delta may not be able to open. */
public final class TableAudit {
  private static final String AUDIT = "column_mapping_audit";

  private TableAudit() {}

  /**
   * Finds the table. One whose newest commits are staged has to be one that Delta opens.
   *
   * @param sample of so many data files the footers are read; null for all
   * @throws UsageTrackingException DELTA_MISSING_DELTA_TABLE
   */
  static Asked of(SparkSession session, String name, Integer sample)
      throws IOException, AnalysisException {
    TablePlace place = TablePlace.of(session, name);
    List<String> parts = NameParts.inView(session, NameParts.of(name));
    LogicalPlan relation = AuditedRelation.of(session, parts, place.path());
    TableReading table = new TableReading(session, place.configuration(), place.path(), List.of());
    if (table.isMissing()) {
      throw NamedTable.missing(name).sneakyThrow();
    }
    return new Asked(
        List.of(relation),
        () -> {
          TableReading read =
              table.hasStagedCommits()
                  ? StagedCommits.reading(session, place.newest().get())
                  : table;
          TableLog log = read.liveFiles(sample);
          return MetadataRules.relation(AUDIT, new Question.NamedLog(name, log));
        });
  }

  /**
   * The findings for a session that has our jar and not our extension, {@code
   * spark_ext/api/audit.py}.
   *
   * @param sample negative for all
   */
  public static Dataset<Row> rows(SparkSession session, String name, int sample) {
    Asked asked = Asked.call(AUDIT, () -> of(session, name, sample < 0 ? null : sample));
    // Analyzes and checks them.
    asked.relations().forEach(relation -> Dataset$.MODULE$.ofRows(session, relation));
    return Dataset$.MODULE$.ofRows(session, TableAnswer.given(Asked.call(AUDIT, asked.answer())));
  }
}
