// SPDX-License-Identifier: Apache-2.0
package sparkext.files;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.delta.actions.AddFile;
import sparkext.common.JobNames;
import sparkext.common.Setting;
import sparkext.common.UsageTrackingErrors;
import sparkext.common.UsageTrackingException;
import sparkext.copy.CopyJob;
import sparkext.copy.CopyJob.CopyProgress;
import sparkext.copy.FileRequest;
import sparkext.copy.FileRequest.FileResult;

/**
 * Reads the footers of files in a Spark job, and copies the files that need a new footer.
 *
 * @param plan of the table's files
 */
public record FileJob(SparkSession session, FilePlan plan) {
  private static final Setting STORE_COPY =
      new Setting("spark.sparkext.columnMapping.removal.storeCopy");

  /** The decision by the log, and the result by the footer. */
  public record TaskResult(FilePlan.FileDecision decision, FileResult result) {
    /** Returns the error for a file that cannot be read. */
    public UsageTrackingException unreadable() {
      return UsageTrackingErrors.unreadableDataFile(
          result.unreadable(), result.reason(), /* cause= */ null);
    }
  }

  /**
   * Reads footers, and returns which files would be copied.
   *
   * @param description for Spark's web UI
   */
  public List<TaskResult> look(List<AddFile> files, String description) {
    return run(files, /* firstNumber= */ null, description, CopyProgress.in(context()));
  }

  /**
   * Copies files.
   *
   * @param firstNumber the number in the name of the first copy
   * @param description for Spark's web UI
   * @param progress is updated as tasks end
   */
  public List<TaskResult> copy(
      List<AddFile> files, int firstNumber, String description, CopyProgress progress) {
    return run(files, (Integer) firstNumber, description, progress);
  }

  private List<TaskResult> run(
      List<AddFile> files, Integer firstNumber, String description, CopyProgress progress) {
    List<FileRequest> requests = new ArrayList<>();
    List<FilePlan.FileDecision> decisions = new ArrayList<>();
    for (int number = 0; number < files.size(); number++) {
      FilePlan.FileDecision decision = plan.decide(files.get(number));
      String target =
          firstNumber == null || decision.reason() != null
              ? null
              : plan.places().target(firstNumber + number, decision.partitionValues());
      decisions.add(decision);
      requests.add(plan.request(number, decision, target));
    }
    CopyJob job =
        new CopyJob(
            context(),
            plan.places().configuration(),
            plan.columns(),
            STORE_COPY.isTrue(session),
            progress);
    return JobNames.described(
            context(), plan.places().paths().table(), description, () -> job.run(requests))
        .stream()
        .map(result -> new TaskResult(decisions.get(result.number()), result))
        .toList();
  }

  private SparkContext context() {
    return session.sparkContext();
  }
}
