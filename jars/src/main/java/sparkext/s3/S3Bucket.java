// SPDX-License-Identifier: Apache-2.0
package sparkext.s3;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.s3a.S3AFileSystem;
import org.apache.hadoop.fs.s3a.api.RequestFactory;
import org.apache.hadoop.fs.store.audit.AuditSpan;
import software.amazon.awssdk.awscore.exception.AwsServiceException;
import software.amazon.awssdk.core.exception.AbortedException;
import software.amazon.awssdk.core.exception.SdkException;
import software.amazon.awssdk.services.s3.S3Client;
import software.amazon.awssdk.services.s3.model.AbortMultipartUploadRequest;
import software.amazon.awssdk.services.s3.model.ListMultipartUploadsRequest;
import software.amazon.awssdk.services.s3.model.MultipartUpload;
import sparkext.parquet.BufferLock;
import sparkext.parquet.StoreRefusedException;

/**
 * A bucket, called by the client of its file system. Requests have S3A's encryption, storage class,
 * ACL and checksums: S3A's factory makes them, or they copy values of a request of that factory.
 *
 * <p>Source: Hadoop 3.4.1 to 3.5.0, S3AFileSystem.java, S3AInternals.java, RequestFactory.java.
 */
final class S3Bucket {
  /** Bad request, forbidden, method not allowed, not implemented. */
  private static final Set<Integer> REFUSED_FOR_ALL = Set.of(400, 403, 405, 501);

  /** A timeout has the status 400 as well. */
  private static final String TIMEOUT = "RequestTimeout";

  private final S3AFileSystem storage;
  private final S3Client client;
  private final BufferLock bufferLock = new BufferLock();

  private S3Bucket(S3AFileSystem storage) {
    this.storage = storage;
    this.client = storage.getS3AInternals().getAmazonS3Client("copies of data files");
  }

  /**
   * Returns empty if S3A encrypts files itself or uploads each file in one piece: copies by the
   * store would differ.
   */
  static Optional<S3Bucket> of(FileSystem storage) {
    S3AFileSystem files = (S3AFileSystem) storage;
    return files.isCSEEnabled() || !files.isMultipartUploadEnabled()
        ? Optional.empty()
        : Optional.of(new S3Bucket(files));
  }

  /**
   * Aborts the uploads of objects below a folder whose names contain a text.
   *
   * @throws IOException if an upload cannot be aborted; all others are aborted
   */
  void abortUploads(Path folder, String inName) throws IOException {
    String below = key(folder).isEmpty() ? "" : key(folder) + "/";
    ListMultipartUploadsRequest.Builder listing =
        requests().newListMultipartUploadsRequestBuilder(below);
    List<MultipartUpload> left =
        call(
            folder,
            () ->
                client.listMultipartUploadsPaginator(listing.build()).uploads().stream()
                    .filter(upload -> nameOf(upload).contains(inName))
                    .toList());
    IOException notAborted = null;
    for (MultipartUpload upload : left) {
      try {
        abort(folder, upload.key(), upload.uploadId());
      } catch (IOException refused) {
        notAborted = refused;
      }
    }
    if (notAborted != null) {
      throw notAborted;
    }
  }

  private static String nameOf(MultipartUpload upload) {
    return upload.key().substring(upload.key().lastIndexOf('/') + 1);
  }

  void abort(Path path, String key, String uploadId) throws IOException {
    AbortMultipartUploadRequest request =
        requests().newAbortMultipartUploadRequestBuilder(key, uploadId).build();
    call(path, () -> client.abortMultipartUpload(request));
  }

  /** Lets one thread at a time read and send a large part. */
  BufferLock bufferLock() {
    return bufferLock;
  }

  S3Client client() {
    return client;
  }

  RequestFactory requests() {
    return storage.getRequestFactory();
  }

  String key(Path path) {
    return storage.pathToKey(path);
  }

  /**
   * Sends a request, with S3A's retries, and returns the response.
   *
   * @throws InterruptedIOException if this thread was interrupted
   * @throws StoreRefusedException if the store refuses the request, or fails
   */
  <T> T call(Path path, Supplier<T> request) throws IOException {
    try (AuditSpan span = storage.createSpan("spark_ext_copy", path.toString(), null)) {
      span.activate();
      return request.get();
    } catch (AbortedException interrupted) {
      throw interrupted(interrupted);
    } catch (SdkException failed) {
      if (Thread.currentThread().isInterrupted()) {
        throw interrupted(failed);
      }
      throw new StoreRefusedException(failed.getMessage(), failed, isForAll(failed));
    }
  }

  private static boolean isForAll(SdkException failed) {
    return failed instanceof AwsServiceException answer
        && REFUSED_FOR_ALL.contains(answer.statusCode())
        && (answer.awsErrorDetails() == null
            || !TIMEOUT.equals(answer.awsErrorDetails().errorCode()));
  }

  private static IOException interrupted(SdkException by) {
    return (IOException) new InterruptedIOException(by.getMessage()).initCause(by);
  }
}
