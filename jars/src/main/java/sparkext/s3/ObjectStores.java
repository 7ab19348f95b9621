// SPDX-License-Identifier: Apache-2.0
package sparkext.s3;

import java.io.IOException;
import java.util.Optional;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import sparkext.parquet.RangeStore;

/** Finds the stores that copy ranges of objects without a download: those of S3A. */
public final class ObjectStores {
  private static final Logger LOG = LoggerFactory.getLogger(ObjectStores.class);

  /** Subclasses are excluded, because they may do more than read and write. */
  private static final String S3A = "org.apache.hadoop.fs.s3a.S3AFileSystem";

  private ObjectStores() {}

  /** Returns the bucket of a file system, if the file system is S3A's and fits our classes. */
  public static Optional<RangeStore> of(FileSystem storage) {
    return bucketOf(storage).map(bucket -> bucket);
  }

  /**
   * Aborts uploads of files below a folder whose names contain a text. No listing shows such
   * uploads, and VACUUM does not find them.
   */
  public static void abortUploads(FileSystem storage, Path folder, String inName)
      throws IOException {
    Optional<S3Bucket> bucket = bucketOf(storage);
    if (bucket.isPresent()) {
      bucket.get().abortUploads(folder, inName);
    }
  }

  private static Optional<S3Bucket> bucketOf(FileSystem storage) {
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
