// SPDX-License-Identifier: Apache-2.0
package sparkext.sql;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.fs.FileStatus;
import org.apache.spark.sql.AnalysisException;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.Dataset$;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.Snapshot;
import scala.jdk.javaapi.CollectionConverters;
import sparkext.common.UsageTrackingException;
import sparkext.log.TableLog;
import sparkext.log.TableReading;
import sparkext.wire.FunctionColumns;
import sparkext.wire.MetadataRules;
import sparkext.wire.Question;

/** Audits a table that Delta may not be able to open, by its files. */
public final class TableAudit {
  static final String NAME = "column_mapping_audit";

  private TableAudit() {}

  /**
   * Finds the table. If its newest commits are staged, Delta has to open it.
   *
   * @param sample the number of data files whose footers are read; null for all
   * @throws AnalysisException DATATYPE_MISMATCH.VALUE_OUT_OF_RANGE if it is negative
   * @throws UsageTrackingException DELTA_MISSING_DELTA_TABLE
   */
  static FoundTables of(SparkSession session, String name, Integer sample)
      throws IOException, AnalysisException {
    if (sample != null && sample < 0) {
      throw new AnalysisException(
          "DATATYPE_MISMATCH.VALUE_OUT_OF_RANGE",
          scala.collection.immutable.Map$.MODULE$.from(
              CollectionConverters.asScala(
                  Map.of(
                      "sqlExpr",
                      NAME,
                      "exprName",
                      "sample",
                      "valueRange",
                      "[0, " + Integer.MAX_VALUE + "]",
                      "currentValue",
                      sample.toString()))));
    }
    TablePlace place = TablePlace.of(session, name);
    List<String> parts = NameParts.inView(session, NameParts.of(name));
    LogicalPlan relation = AuditedRelation.of(session, parts, place.path());
    TableReading table = new TableReading(session, place.configuration(), place.path(), List.of());
    if (table.isMissing()) {
      throw LoadedTable.missing(NameParts.of(name)).sneakyThrow();
    }
    return new FoundTables(
        FunctionColumns.of(NAME),
        List.of(relation),
        () -> {
          TableReading read =
              table.hasStagedCommits()
                  ? StagedCommits.reading(session, place.newest().get())
                  : table;
          TableLog log = read.liveFiles(sample);
          return MetadataRules.rows(NAME, new Question.TableQuestion(name, log));
        });
  }

  /**
   * Returns the findings. {@code spark_ext/tables/inspect.py} calls this in a session without the
   * extension.
   *
   * @param sample negative for all
   */
  public static Dataset<Row> rows(SparkSession session, String name, int sample) {
    FoundTables tables =
        FoundTables.call(NAME, () -> of(session, name, sample < 0 ? null : sample));
    // Analyzes and checks the relations.
    tables.relations().forEach(relation -> Dataset$.MODULE$.ofRows(session, relation));
    return Dataset$.MODULE$.ofRows(
        session,
        TableFunctionCall.given(tables.columns(), FoundTables.call(NAME, tables.answer())));
  }

  /**
   * The commits that a table's catalog has accepted, and that are not yet published in the log's
   * folder. Other staged files may be of failed commits, so Delta lists the accepted ones.
   *
   * <p>Source: Protocol, "Catalog-managed tables"; Delta 4.4.0, SnapshotManagement.scala, {@code
   * LogSegment}.
   */
  static final class StagedCommits {
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
}
