// SPDX-License-Identifier: Apache-2.0
package sparkext.files;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.delta.actions.AddFile;
import sparkext.copy.CopyJob;
import sparkext.copy.CopyProgress;
import sparkext.copy.FileRequest;
import sparkext.copy.FileResult;
import sparkext.error.Setting;
import sparkext.error.UsageTrackingErrors;
import sparkext.error.UsageTrackingException;
import sparkext.jobs.JobNames;

/** Looks at the footers of files in a Spark job, and copies those that need it. */
public final class FileJob {
  private final SparkSession session;
  private final Configuration configuration;
  private final FilePlan files;
  private final Path table;

  /** What the log and the footer say of a file, and what became of it. */
  public record TaskResult(FilePlan.FileDecision looked, FileResult result) {
    /** The error for a file that nobody can read. */
    public UsageTrackingException refusal() {
      return UsageTrackingErrors.unreadableDataFile(result.unreadable(), result.reason());
    }
  }

  /** Where the copies go, if there are to be any. */
  public interface Target {
    /**
     * As a URI.
     *
     * @param number of the file in this job
     */
    String of(int number, Map<String, String> partitionValues);
  }

  public FileJob(SparkSession session, Configuration configuration, FilePlan files, Path table) {
    this.session = session;
    this.configuration = configuration;
    this.files = files;
    this.table = table;
  }

  /**
   * @param doing for those who look at Spark's jobs
   * @param progress is kept up to date
   */
  public List<TaskResult> run(
      List<AddFile> some, Target target, String doing, CopyProgress progress) {
    List<TaskResult> done = new ArrayList<>();
    List<FileRequest> requests = new ArrayList<>();
    Map<Integer, FilePlan.FileDecision> ordered = new HashMap<>();
    for (int number = 0; number < some.size(); number++) {
      FilePlan.FileDecision looked = files.look(some.get(number));
      boolean isCopied = looked.reason() == null;
      FileRequest request =
          files.request(
              number, looked, isCopied ? target.of(number, looked.partitionValues()) : null);
      if (request == null) {
        done.add(new TaskResult(looked, FileResult.toRewrite(number, looked.reason())));
      } else {
        requests.add(request);
        ordered.put(number, looked);
      }
    }
    CopyJob job =
        new CopyJob(
            session.sparkContext(),
            configuration,
            files.columns(),
            Setting.STORE_COPY.isTrue(session),
            progress);
    for (FileResult result :
        JobNames.described(session.sparkContext(), table, doing, () -> job.run(requests))) {
      done.add(new TaskResult(ordered.get(result.number()), result));
    }
    return done;
  }
}
