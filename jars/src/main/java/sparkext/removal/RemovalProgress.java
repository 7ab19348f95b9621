// SPDX-License-Identifier: Apache-2.0
package sparkext.removal;

import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.SparkSession;
import scala.jdk.javaapi.CollectionConverters;
import sparkext.copy.CopyJob.CopyProgress;

/** The progress of the removals in this driver, for users who wait for them. */
public final class RemovalProgress implements AutoCloseable {
  private static final Map<String, Round> RUNNING = new ConcurrentHashMap<>();

  private final SparkContext context;
  private final Set<String> tags;

  /** The files that a round copies, and the progress of the copies. */
  private record Round(int number, long numFiles, long sizeInBytes, CopyProgress copied) {}

  /** Makes the progress of the removal in this thread, found by the tags of its Spark jobs. */
  RemovalProgress(SparkSession session) {
    this.context = session.sparkContext();
    this.tags = CollectionConverters.asJava(context.getJobTags());
  }

  /**
   * Returns the number of the round, and how many files and bytes the round has still to copy;
   * empty before the first round and after the removal.
   *
   * @param tag of the Spark jobs of a statement
   */
  public static long[] of(String tag) {
    Round round = RUNNING.get(tag);
    return round == null
        ? new long[0]
        : new long[] {
          round.number(),
          round.numFiles() - round.copied().numFiles().value(),
          round.sizeInBytes() - round.copied().sizeInBytes().value()
        };
  }

  /** Begins a round. */
  CopyProgress begin(int number, long numFiles, long sizeInBytes) {
    CopyProgress copied = CopyProgress.in(context);
    tags.forEach(tag -> RUNNING.put(tag, new Round(number, numFiles, sizeInBytes, copied)));
    return copied;
  }

  @Override
  public void close() {
    tags.forEach(RUNNING::remove);
  }
}
