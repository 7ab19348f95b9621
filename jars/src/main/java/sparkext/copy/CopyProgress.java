// SPDX-License-Identifier: Apache-2.0
package sparkext.copy;

import java.io.Serializable;
import org.apache.spark.SparkContext;
import org.apache.spark.util.LongAccumulator;

/** What a job has done of its files, counted as each of its tasks ends. */
public record CopyProgress(LongAccumulator numFiles, LongAccumulator sizeInBytes)
    implements Serializable {
  /** Of a job that has not begun. */
  public static CopyProgress in(SparkContext context) {
    return new CopyProgress(context.longAccumulator(), context.longAccumulator());
  }

  void addFile(long size) {
    numFiles.add(1L);
    sizeInBytes.add(size);
  }
}
