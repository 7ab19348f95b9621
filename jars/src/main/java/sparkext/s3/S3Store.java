// SPDX-License-Identifier: Apache-2.0
package sparkext.s3;

import java.io.IOException;
import java.util.Optional;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import sparkext.parquet.InputFile;
import sparkext.parquet.RangeStore;

/** A store that copies ranges of objects without a download: a bucket of S3A. */
public record S3Store(S3Bucket bucket) implements RangeStore {
  private static final Logger LOG = LoggerFactory.getLogger(S3Store.class);

  /** Subclasses are excluded, because they may do more than read and write. */
  private static final String S3A = "org.apache.hadoop.fs.s3a.S3AFileSystem";

  /** Returns the store of a file system, if the file system is S3A's and fits our classes. */
  public static Optional<RangeStore> of(FileSystem storage) {
    return find(storage).map(store -> store);
  }

  private static Optional<S3Store> find(FileSystem storage) {
    if (!storage.getClass().getName().equals(S3A)) {
      return Optional.empty();
    }
    try {
      return S3Bucket.of(storage).map(S3Store::new);
    } catch (LinkageError unfit) {
      LOG.warn("Executors copy files, because the classes of S3A do not fit: {}", unfit.toString());
      return Optional.empty();
    }
  }

  /**
   * Aborts uploads of files below a folder whose names contain a text. No listing shows such
   * uploads, and VACUUM does not find them.
   */
  public static void abortUploads(FileSystem storage, Path folder, String inName)
      throws IOException {
    Optional<S3Store> store = find(storage);
    if (store.isPresent()) {
      store.get().bucket().abortUploads(folder, inName);
    }
  }

  /** Shorter ranges are too short for a part of an upload. */
  @Override
  public long leastCopied() {
    return PartPlan.MIN_PART;
  }

  @Override
  public InputFile open(Path path, long size) {
    return new S3Object(bucket, path, size);
  }

  @Override
  public Upload create(InputFile source, Path target, Runnable checkpoint) {
    return new S3Upload(bucket, (S3Object) source, target, checkpoint);
  }
}
