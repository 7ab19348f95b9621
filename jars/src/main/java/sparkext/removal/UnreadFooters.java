// SPDX-License-Identifier: Apache-2.0
package sparkext.removal;

import java.io.IOException;
import java.util.HashSet;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.actions.AddFile;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import sparkext.common.UsageTrackingException;

/**
 * Names the file at fault if Delta fails to read footers for a purge. Delta reads footers in a
 * Spark job before it calls any hook of the purge, and its error may not name the file.
 *
 * <p>Source: Delta 4.4.0, ReorgTableHelper.scala, {@code filterParquetFilesOnExecutors}.
 */
final class UnreadFooters {
  private static final String UNREADABLE = "USAGE_TRACKING_UNREADABLE_DATA_FILE";

  private UnreadFooters() {}

  /**
   * Reads the footers again after a failure of the storage, and throws if one cannot be read.
   *
   * @param executor as for {@link PurgeCommand#end}
   * @throws UsageTrackingException USAGE_TRACKING_UNREADABLE_DATA_FILE
   */
  @SuppressWarnings("unchecked")
  static void requireReadable(Object[] executor, Throwable failure) {
    if (!isOfStorage(failure)) {
      return;
    }
    try {
      Purge.of(executor)
          .ifPresent(
              purge ->
                  purge.requireReadable(
                      paths((Snapshot) executor[2], (Seq<Expression>) executor[5])));
    } catch (Exception found) { // Scala declares no checked exceptions
      if (found instanceof UsageTrackingException refusal
          && UNREADABLE.equals(refusal.getCondition())) {
        refusal.addSuppressed(failure);
        throw refusal.sneakyThrow();
      }
      failure.addSuppressed(found);
    }
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

  private static boolean isOfStorage(Throwable failure) {
    for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
      if (cause instanceof IOException) {
        return true;
      }
    }
    return false;
  }
}
