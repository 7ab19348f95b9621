// SPDX-License-Identifier: Apache-2.0
package sparkext.s3;

import java.util.Optional;
import org.apache.hadoop.fs.FileSystem;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Finds the stores that copy ranges of objects without a download: those of S3A. */
public final class ObjectStores {
  private static final Logger LOG = LoggerFactory.getLogger(ObjectStores.class);

  /** Subclasses are excluded, because they may do more than read and write. */
  private static final String S3A = "org.apache.hadoop.fs.s3a.S3AFileSystem";

  /** Shorter ranges are not copied, because they would be too short for a part of an upload. */
  public static final long LEAST_COPIED = PartPlan.MIN_PART;

  private ObjectStores() {}

  /** Returns the bucket of a file system, if the file system is S3A's and fits our classes. */
  public static Optional<S3Bucket> bucketOf(FileSystem storage) {
    if (!storage.getClass().getName().equals(S3A)) {
      return Optional.empty();
    }
    try {
      return S3Bucket.of(storage);
    } catch (LinkageError unfit) {
      LOG.warn("Executors copy files, because the classes of S3A do not fit: {}", unfit.toString());
      return Optional.empty();
    }
  }
}
