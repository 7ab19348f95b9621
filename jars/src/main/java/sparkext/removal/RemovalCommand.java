// SPDX-License-Identifier: Apache-2.0
package sparkext.removal;

import java.util.List;
import java.util.Optional;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.commands.columnmapping.RemoveColumnMappingCommand;
import sparkext.copy.CopyProgress;
import sparkext.error.Setting;
import sparkext.error.UsageTrackingException;
import sparkext.files.CopySetting;
import sparkext.files.FileJob;
import sparkext.files.FilePlaces;
import sparkext.files.FilePlan;
import sparkext.files.LiveFiles;
import sparkext.jobs.JobNames;
import sparkext.parquet.ColumnPlan;
import sparkext.wire.AllowedRemoval;
import sparkext.wire.CountedFiles;
import sparkext.wire.CountedFiles.Count;

/**
 * Delta's command to remove column mapping without its rewrite: one commit, for which files are
 * copied under other names at most, and none is touched where metadata alone suffices.
 *
 * <p>What may be is decided by {@code spark_ext/removal/rewrite_reasons.py}, and what becomes of
 * the columns by {@code copy_plan.py}. A writer that raced with it fails as it would after Delta's
 * own.
 *
 * <p>Source: Delta 4.4.0, RemoveColumnMappingCommand.scala, {@code run}.
 */
public final class RemovalCommand {
  private RemovalCommand() {}

  /**
   * Leaves column mapping in one commit where that is allowed and asked for.
   *
   * @param command a {@code RemoveColumnMappingCommand}
   * @param arguments those of its {@code run}
   * @return whether it was committed; if not, nothing was written and Delta's rewrite has to do it
   * @throws UsageTrackingException a failure of the rules, or a file that nobody can read; the
   *     statement fails with it
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
   * Counts what leaving would do to each file, by reading the footers in a Spark job.
   *
   * @return null where it would copy none
   * @throws UsageTrackingException as {@link #commit}
   */
  public static CountedFiles count(SparkSession session, Snapshot snapshot) {
    Optional<ColumnPlan> plan =
        RemovalRounds.allowed(CopySetting.of(session, Setting.REMOVAL), snapshot)
            .flatMap(AllowedRemoval::plan);
    if (plan.isEmpty()) {
      return null;
    }
    Configuration configuration = snapshot.deltaLog().newDeltaHadoopConf();
    FilePlaces places = new FilePlaces(snapshot.deltaLog().dataPath(), snapshot.metadata());
    FilePlan files = Copies.files(plan.get(), snapshot, places);
    FileJob job = new FileJob(session, configuration, files, places.table());
    List<AddFile> live = LiveFiles.of(snapshot);
    Count kept = Count.ZERO;
    Count copied = Count.ZERO;
    Count rewritten = Count.ZERO;
    for (FileJob.TaskResult done :
        job.run(
            live,
            (number, values) -> null,
            "reads " + live.size() + " footers",
            CopyProgress.in(session.sparkContext()))) {
      AddFile file = done.looked().file();
      switch (done.result().way()) {
        case KEPT -> kept = kept.plus(file.size());
        case COPIED -> copied = copied.plus(file.size());
        case TO_REWRITE -> rewritten = rewritten.plus(file.size());
        default -> throw done.refusal().sneakyThrow();
      }
    }
    return new CountedFiles(kept, copied, rewritten);
  }
}
