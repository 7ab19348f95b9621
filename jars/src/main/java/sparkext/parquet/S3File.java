// SPDX-License-Identifier: Apache-2.0
package sparkext.parquet;

import java.io.IOException;
import java.io.OutputStream;
import sparkext.s3.S3Object;
import sparkext.s3.S3Upload;

/** A file whose store copies ranges of it by itself. */
final class S3File implements Source {
  private final S3Object object;
  private final Window window = new Window();

  S3File(S3Object object) {
    this.object = object;
  }

  @Override
  public void read(long start, byte[] bytes) throws IOException {
    window.read(start, bytes, object.size(), object::read);
  }

  /** To an upload of the same store. What was read already is sent. */
  @Override
  public void copy(long start, long length, OutputStream target, Runnable checkpoint)
      throws IOException {
    if (window.holds(start, length)) {
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
