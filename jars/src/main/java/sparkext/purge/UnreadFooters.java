// SPDX-License-Identifier: Apache-2.0
package sparkext.purge;

import java.io.IOException;
import java.util.HashSet;
import java.util.Optional;
import java.util.Set;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.actions.AddFile;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import sparkext.error.UsageTrackingException;
import sparkext.parquet.ColumnPlan;

/**
 * Names the file at fault if Delta fails to read the footers of a purge. Delta reads them in a job
 * before it asks for anything to be written, and its error may name no file.
 *
 * <p>Source: Delta 4.4.0, ReorgTableHelper.scala, {@code filterParquetFilesOnExecutors}.
 */
final class UnreadFooters {
  private static final String UNREADABLE = "USAGE_TRACKING_UNREADABLE_DATA_FILE";

  private UnreadFooters() {}

  /**
   * Reads the footers again if a storage failed, and throws if one cannot be read.
   *
   * @param executor as for {@link PurgeCommand#end}
   * @throws UsageTrackingException USAGE_TRACKING_UNREADABLE_DATA_FILE
   */
  static void refuse(Object[] executor, Throwable failure) {
    if (!isOfStorage(failure)) {
      return;
    }
    try {
      refuse(executor);
    } catch (Exception found) { // Scala declares none: Spark's own is a checked one
      if (found instanceof UsageTrackingException refusal
          && UNREADABLE.equals(refusal.getCondition())) {
        refusal.addSuppressed(failure);
        throw refusal.sneakyThrow();
      }
      failure.addSuppressed(found);
    }
  }

  @SuppressWarnings("unchecked")
  private static void refuse(Object[] executor) {
    SparkSession session = (SparkSession) executor[1];
    Snapshot snapshot = (Snapshot) executor[2];
    Optional<ColumnPlan> plan = Purge.plan(session, snapshot);
    if (plan.isEmpty()) {
      return;
    }
    Set<String> paths = new HashSet<>();
    for (AddFile file :
        CollectionConverters.asJava(
            snapshot.filesForScan((Seq<Expression>) executor[5], false).files())) {
      paths.add(file.path());
    }
    new Purge(session, snapshot, (Option<CatalogTable>) executor[3], plan.get())
        .refuseUnreadable(paths);
  }

  private static boolean isOfStorage(Throwable failure) {
    for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
      if (cause instanceof IOException) {
        return true;
      }
    }
    return false;
  }
}
