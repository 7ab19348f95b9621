// SPDX-License-Identifier: Apache-2.0
package sparkext.copy;

import java.io.Serializable;
import org.apache.spark.SparkContext;
import org.apache.spark.util.LongAccumulator;

/**
 * Counts the files and bytes that a job has handled. Spark adds the counts of a task at its end.
 */
public record CopyProgress(LongAccumulator numFiles, LongAccumulator sizeInBytes)
    implements Serializable {
  /** Returns the counts of a job that has not started. */
  public static CopyProgress in(SparkContext context) {
    return new CopyProgress(context.longAccumulator(), context.longAccumulator());
  }

  void addFile(long size) {
    numFiles.add(1L);
    sizeInBytes.add(size);
  }
}
