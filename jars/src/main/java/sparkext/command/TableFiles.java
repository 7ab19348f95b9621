// SPDX-License-Identifier: Apache-2.0
package sparkext.command;

import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.actions.AddFile;
import scala.jdk.javaapi.CollectionConverters;
import sparkext.copy.CopyJob;
import sparkext.copy.FileResult;
import sparkext.error.UsageTrackingErrors;
import sparkext.error.UsageTrackingException;
import sparkext.parquet.ColumnPlan;

/** The data files of a table's version, and what leaving column mapping does to each. */
final class TableFiles {
  private final SparkSession session;
  private final Path table;
  private final Configuration configuration;
  private final ColumnPlan plan;
  private final RenamedKeys keys;
  private final List<AddFile> files;

  TableFiles(
      SparkSession session, Snapshot snapshot, Configuration configuration, ColumnPlan plan) {
    this.session = session;
    this.table = snapshot.deltaLog().dataPath();
    this.configuration = configuration;
    this.plan = plan;
    this.keys = RenamedKeys.of(plan, snapshot.metadata());
    this.files = LiveFiles.of(snapshot);
  }

  AddFile get(int number) {
    return files.get(number);
  }

  /**
   * Copies the files that need it.
   *
   * @throws UsageTrackingException USAGE_TRACKING_UNREADABLE_DATA_FILE
   */
  List<FileResult> copied(FilePlaces places) {
    return results(
        places,
        "copies up to " + files.size() + " files",
        (number, values) -> places.target(number, values).toUri().toString());
  }

  /**
   * What {@link #copied} would do, by the footers.
   *
   * @throws UsageTrackingException as {@link #copied}
   */
  List<FileResult> looked(FilePlaces places) {
    return results(places, "reads " + files.size() + " footers", (number, values) -> null);
  }

  /** Where a file's copy goes. */
  private interface Target {
    String of(int number, Map<String, String> partitionValues);
  }

  private List<FileResult> results(FilePlaces places, String doing, Target target) {
    List<CopyJob.Order> orders = new ArrayList<>();
    List<FileResult> results = new ArrayList<>();
    for (int number = 0; number < files.size(); number++) {
      AddFile file = files.get(number);
      if (file.deletionVector() != null && file.numPhysicalRecords().isEmpty()) {
        // Delta commits no deletion vector of a file whose rows are not counted.
        results.add(FileResult.toRewrite(number, "nobody counted the rows of its deletion vector"));
        continue;
      }
      String statistics;
      try {
        statistics = keys.statistics(file.stats());
      } catch (UncheckedIOException broken) {
        results.add(FileResult.toRewrite(number, "its statistics are no JSON object"));
        continue;
      }
      Map<String, String> oldValues = CollectionConverters.asJava(file.partitionValues());
      Map<String, String> values = keys.partitionValues(oldValues);
      orders.add(
          new CopyJob.Order(
              number,
              places.absolute(file.path()).toUri().toString(),
              file.size(),
              target.of(number, values),
              // Of a file that stays nothing can be said anew: Delta's checksum
              // (Checksum.scala, `computeNewChecksum`) would count it twice.
              values.equals(oldValues)
                  && RenamedKeys.areSame(statistics, file.stats())
                  && !places.isMisleading(file.path(), oldValues, values)));
    }
    CopyJob job = new CopyJob(session.sparkContext(), configuration, plan);
    results.addAll(job.run(orders, "Column mapping of " + table + ": " + doing));
    for (FileResult result : results) {
      if (result.kind() == FileResult.Kind.UNREADABLE) {
        String path = places.absolute(get(result.number()).path()).toString();
        throw UsageTrackingErrors.unreadableDataFile(path, result.reason()).sneak();
      }
    }
    return results;
  }
}
