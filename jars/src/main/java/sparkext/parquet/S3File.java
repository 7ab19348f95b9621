// SPDX-License-Identifier: Apache-2.0
package sparkext.parquet;

import java.io.IOException;
import java.io.OutputStream;
import sparkext.s3.S3Object;
import sparkext.s3.S3Upload;

/** A file that is copied to an upload of the same store, which copies ranges without a download. */
final class S3File extends ReadAheadFile {
  private final S3Object object;

  S3File(S3Object object) {
    super(object.size());
    this.object = object;
  }

  @Override
  void fetch(long from, byte[] target) throws IOException {
    object.read(from, target);
  }

  /** Sends bytes that are in memory. The store copies all others. */
  @Override
  public void copy(long start, long length, OutputStream target, Runnable checkpoint)
      throws IOException {
    if (isFetched(start, length)) {
      byte[] bytes = new byte[(int) length];
      read(start, bytes);
      target.write(bytes);
    } else {
      ((S3Upload) target).copy(start, length);
    }
  }

  @Override
  public void close() {}
}
