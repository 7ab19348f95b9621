// SPDX-License-Identifier: Apache-2.0
package sparkext.s3;

import java.util.Optional;
import org.apache.hadoop.fs.FileSystem;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The storages that copy by themselves: S3A's, where Hadoop's classes for it are there and fit. */
public final class ObjectStores {
  private static final Logger LOG = LoggerFactory.getLogger(ObjectStores.class);

  /** Not what is derived from it: that may do more than read and write. */
  private static final String S3A = "org.apache.hadoop.fs.s3a.S3AFileSystem";

  /** Shorter ranges are not copied into an object that has other bytes behind them. */
  public static final long LEAST_COPIED = PartPlan.MIN_PART;

  private ObjectStores() {}

  /** The bucket behind a file system, if it has one that can be asked for copies. */
  public static Optional<S3Bucket> bucketOf(FileSystem storage) {
    if (!storage.getClass().getName().equals(S3A)) {
      return Optional.empty();
    }
    try {
      return S3Bucket.of(storage);
    } catch (LinkageError unfit) {
      LOG.warn("This Hadoop's S3A cannot be asked for copies: {}", unfit.toString());
      return Optional.empty();
    }
  }
}
