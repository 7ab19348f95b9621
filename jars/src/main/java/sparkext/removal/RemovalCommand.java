// SPDX-License-Identifier: Apache-2.0
package sparkext.removal;

import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.commands.columnmapping.RemoveColumnMappingCommand;
import sparkext.common.JobNames;
import sparkext.common.UsageTrackingException;
import sparkext.files.CopyPlaces;
import sparkext.files.CopySetting;
import sparkext.files.FileJob;
import sparkext.files.FilePlan;
import sparkext.files.LiveTable;
import sparkext.log.TableLog.FileCount;
import sparkext.parquet.ColumnPlan;
import sparkext.parquet.DataFile;
import sparkext.wire.PlanJson.AllowedRemoval;
import sparkext.wire.Question.CountedFiles;

/**
 * Replaces the rewrite of Delta's command to remove column mapping by byte copies, or by a
 * metadata-only commit if no file needs a copy.
 *
 * <p>{@code spark_ext/removal/reasons.py} decides whether files need copies, and {@code
 * copy_plan.py} which columns are kept. Concurrent writers fail as they do beside Delta's command.
 *
 * <p>Source: Delta 4.4.0, RemoveColumnMappingCommand.scala, {@code run}.
 */
public final class RemovalCommand {
  private RemovalCommand() {}

  /**
   * Removes column mapping in at most one commit if the session and the rules allow that.
   *
   * @param command a {@code RemoveColumnMappingCommand}
   * @param arguments of its method {@code run}
   * @return as {@link RemovalRounds#run}
   * @throws UsageTrackingException USAGE_TRACKING_INVALID_SETTING, or as {@link RemovalRounds#run};
   *     the statement fails
   */
  public static boolean commit(Object command, Object[] arguments) {
    SparkSession session = (SparkSession) arguments[0];
    return JobNames.ofStatement(
        session.sparkContext(),
        () ->
            new RemovalRounds(
                    session,
                    (RemoveColumnMappingCommand) command,
                    /* removesProperty= */ (boolean) arguments[1])
                .run());
  }

  /**
   * Counts the files that a removal would keep, copy and rewrite, by a Spark job that reads
   * footers.
   *
   * @return null if the removal would be metadata only, or Delta would rewrite all files
   * @throws UsageTrackingException USAGE_TRACKING_INVALID_SETTING;
   *     USAGE_TRACKING_UNREADABLE_DATA_FILE; a failure of the rules
   */
  public static CountedFiles count(SparkSession session, Snapshot snapshot) {
    Optional<ColumnPlan> plan =
        RemovalRounds.allowed(CopySetting.ofRemoval(session), snapshot)
            .flatMap(AllowedRemoval::plan);
    if (plan.isEmpty()) {
      return null;
    }
    FilePlan files = FilePlan.ofRemoval(plan.get(), snapshot, new CopyPlaces(snapshot));
    List<AddFile> live = LiveTable.files(snapshot);
    Map<DataFile.Way, FileCount> counts = new EnumMap<>(DataFile.Way.class);
    for (FileJob.TaskResult done :
        new FileJob(session, files).look(live, "reads " + live.size() + " footers")) {
      if (done.result().way() == DataFile.Way.UNREADABLE) {
        throw done.unreadable().sneakyThrow();
      }
      long size = done.decision().file().size();
      counts.merge(done.result().way(), FileCount.ZERO.plus(size), (all, one) -> all.plus(size));
    }
    return new CountedFiles(
        counts.getOrDefault(DataFile.Way.KEPT, FileCount.ZERO),
        counts.getOrDefault(DataFile.Way.COPIED, FileCount.ZERO),
        counts.getOrDefault(DataFile.Way.TO_REWRITE, FileCount.ZERO));
  }
}
