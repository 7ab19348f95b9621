// SPDX-License-Identifier: Apache-2.0
package sparkext.removal;

import java.io.IOException;
import java.util.HashSet;
import java.util.Set;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.sources.DeltaSQLConf;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import sparkext.common.FailedRead;
import sparkext.common.UsageTrackingErrors;
import sparkext.common.UsageTrackingException;

/**
 * Names the file at fault if Delta fails to read a file for a purge. Delta reads footers in a Spark
 * job before it calls any hook of the purge, and its error may not name the file.
 *
 * <p>Source: Delta 4.4.0, ReorgTableHelper.scala, {@code filterParquetFilesOnExecutors}.
 */
final class UnreadFooters {
  private static final String UNREADABLE = "USAGE_TRACKING_UNREADABLE_DATA_FILE";

  private UnreadFooters() {}

  /**
   * Returns USAGE_TRACKING_UNREADABLE_DATA_FILE if Delta could not read a file, and any other
   * failure unchanged. After a failure of the storage, this reads the footers again.
   *
   * @param executor as for {@link PurgeCommand#end}
   * @param failure of a purge without copies
   */
  static Throwable described(Object[] executor, Throwable failure) {
    if (FailedRead.in(failure) != null) {
      // Delta commits several batches of files if the session sets their size.
      String batchSize = DeltaSQLConf.DELTA_OPTIMIZE_BATCH_SIZE().key();
      return ((SparkSession) executor[1]).conf().getOption(batchSize).isDefined()
          ? failure
          : FailedRead.described(failure);
    }
    boolean isOfStorage =
        UsageTrackingErrors.causes(failure).anyMatch(IOException.class::isInstance);
    return isOfStorage ? readAgain(executor, failure) : failure;
  }

  @SuppressWarnings("unchecked")
  private static Throwable readAgain(Object[] executor, Throwable failure) {
    try {
      Purge.withoutSetting(executor)
          .ifPresent(
              purge ->
                  purge.requireReadable(
                      paths((Snapshot) executor[2], (Seq<Expression>) executor[5])));
    } catch (Exception found) { // Scala declares no checked exceptions
      if (found instanceof UsageTrackingException refusal
          && UNREADABLE.equals(refusal.getCondition())) {
        refusal.addSuppressed(failure);
        return refusal;
      }
      failure.addSuppressed(found);
    }
    return failure;
  }

  private static Set<String> paths(Snapshot snapshot, Seq<Expression> partitionPredicate) {
    Set<String> paths = new HashSet<>();
    for (AddFile file :
        CollectionConverters.asJava(
            snapshot.filesForScan(partitionPredicate, /* keepNumRecords= */ false).files())) {
      paths.add(file.path());
    }
    return paths;
  }
}
