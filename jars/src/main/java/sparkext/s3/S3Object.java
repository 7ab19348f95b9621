// SPDX-License-Identifier: Apache-2.0
package sparkext.s3;

import java.io.IOException;
import java.io.OutputStream;
import org.apache.hadoop.fs.Path;
import software.amazon.awssdk.core.ResponseBytes;
import software.amazon.awssdk.services.s3.model.GetObjectRequest;
import software.amazon.awssdk.services.s3.model.GetObjectResponse;
import sparkext.parquet.InputFile;
import sparkext.parquet.RangeStore;
import sparkext.parquet.StoreRefusedException;

/** A version of an object: after the first read, other versions are refused. */
final class S3Object extends InputFile.ReadAhead {
  private final S3Bucket bucket;
  private final Path path;
  private String etag;

  /**
   * @param size of the object according to the log
   */
  S3Object(S3Bucket bucket, Path path, long size) {
    super(size);
    this.bucket = bucket;
    this.path = path;
  }

  /**
   * Fills an array with the bytes at a position, by one request.
   *
   * @throws StoreRefusedException if the object does not exist, cannot be read, was replaced since
   *     the first read, or has another size
   */
  @Override
  protected void fetch(long start, byte[] bytes) throws IOException {
    String range = "bytes=" + start + "-" + (start + bytes.length - 1);
    GetObjectRequest.Builder request =
        bucket.requests().newGetObjectRequestBuilder(key()).range(range);
    if (etag != null) {
      request.ifMatch(etag);
    }
    ResponseBytes<GetObjectResponse> answer =
        bucket.call(path, () -> bucket.client().getObjectAsBytes(request.build()));
    byte[] read = answer.asByteArrayUnsafe();
    String expected = range.replace('=', ' ') + "/" + size();
    if (!expected.equals(answer.response().contentRange()) || read.length != bytes.length) {
      throw new StoreRefusedException(
          path + " has " + answer.response().contentRange() + ", not " + expected,
          null,
          /* isForAll= */ false);
    }
    System.arraycopy(read, 0, bytes, 0, read.length);
    etag = answer.response().eTag();
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
      ((RangeStore.Upload) target).copy(start, length);
    }
  }

  @Override
  public void close() {}

  String key() {
    return bucket.key(path);
  }

  String etag() {
    return etag;
  }
}
