// SPDX-License-Identifier: Apache-2.0
package sparkext.s3;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.util.functional.CallableRaisingIOE;
import software.amazon.awssdk.awscore.AwsRequestOverrideConfiguration;
import software.amazon.awssdk.core.sync.RequestBody;
import software.amazon.awssdk.services.s3.model.CompleteMultipartUploadRequest;
import software.amazon.awssdk.services.s3.model.CompletedPart;
import software.amazon.awssdk.services.s3.model.CopyPartResult;
import software.amazon.awssdk.services.s3.model.CreateMultipartUploadRequest;
import software.amazon.awssdk.services.s3.model.HeadObjectResponse;
import software.amazon.awssdk.services.s3.model.UploadPartCopyRequest;
import software.amazon.awssdk.services.s3.model.UploadPartRequest;
import software.amazon.awssdk.services.s3.model.UploadPartResponse;
import sparkext.parquet.RangeStore;
import sparkext.parquet.StoreRefusedException;
import sparkext.s3.PartPlan.Copied;
import sparkext.s3.PartPlan.New;
import sparkext.s3.PartPlan.Part;
import sparkext.s3.PartPlan.Piece;
import sparkext.s3.PartPlan.Range;
import sparkext.s3.PartPlan.Sent;

/**
 * Creates an object from ranges of a source object, which the store copies, and new bytes. The
 * requests are sent when the stream is closed; until the last one the object does not exist.
 *
 * <p>Source: Amazon S3 API Reference, UploadPartCopy, CompleteMultipartUpload.
 */
final class S3Upload extends RangeStore.Upload {
  /** The timeout of a request that copies or sends a part, as S3A's for a part. */
  private static final Duration TIMEOUT = Duration.ofMinutes(15);

  /** Ranges with a gap up to this are read by one request. */
  private static final long MAX_GAP = 1 << 20;

  private static final long READ_AT_ONCE = 16 << 20;

  /** The length of a part that all threads of a task may have in memory at once. */
  private static final long SMALL = 1 << 20;

  private final S3Bucket bucket;
  private final S3Object source;
  private final Path target;
  private final String key;
  private final Runnable checkpoint;
  private final List<Piece> pieces = new ArrayList<>();
  private CreateMultipartUploadRequest begin;
  private String id;
  private boolean isEnded;

  /**
   * @param checkpoint runs before each part, and ends the upload by an exception
   */
  S3Upload(S3Bucket bucket, S3Object source, Path target, Runnable checkpoint) {
    this.bucket = bucket;
    this.source = source;
    this.target = target;
    this.key = bucket.key(target);
    this.checkpoint = checkpoint;
  }

  @Override
  public void copy(long start, long length) {
    if (length == 0) {
      return;
    }
    int last = pieces.size() - 1;
    if (last >= 0
        && pieces.get(last) instanceof Range range
        && range.start() + range.length() == start) {
      pieces.set(last, new Range(range.start(), range.length() + length));
    } else {
      pieces.add(new Range(start, length));
    }
  }

  @Override
  public void write(int one) {
    write(new byte[] {(byte) one}, 0, 1);
  }

  @Override
  public void write(byte[] bytes, int offset, int length) {
    if (length > 0) {
      pieces.add(new New(Arrays.copyOfRange(bytes, offset, offset + length)));
    }
  }

  /** Creates no object, and aborts the upload at the store. */
  @Override
  public void abort() throws IOException {
    isEnded = true;
    if (id != null) {
      bucket.abort(target, key, id);
    }
  }

  /**
   * Creates the object.
   *
   * @throws StoreRefusedException if the store refuses; the caller must then abort the upload
   */
  @Override
  public void close() throws IOException {
    if (isEnded) {
      return;
    }
    isEnded = true;
    List<Part> parts = PartPlan.of(pieces);
    if (parts.isEmpty()) {
      throw new StoreRefusedException(
          target + " would have too many parts", null, /* isForAll= */ false);
    }
    checkpoint.run();
    begin = bucket.requests().newMultipartUploadRequestBuilder(key, null).build();
    id = bucket.call(target, () -> bucket.client().createMultipartUpload(begin)).uploadId();
    List<CompletedPart> made = new ArrayList<>();
    for (Part part : parts) {
      checkpoint.run();
      made.add(make(part, made.size() + 1));
    }
    checkpoint.run();
    complete(made);
  }

  private CompletedPart make(Part part, int number) throws IOException {
    if (part instanceof Copied copied) {
      return copy(copied.range(), number);
    }
    Sent sent = (Sent) part;
    CallableRaisingIOE<CompletedPart> work = () -> send(content(sent), number);
    return sent.length() <= SMALL ? work.apply() : bucket.bufferLock().run(work);
  }

  private CompletedPart copy(Range range, int number) throws IOException {
    UploadPartCopyRequest request =
        UploadPartCopyRequest.builder()
            .sourceBucket(begin.bucket())
            .sourceKey(source.key())
            .copySourceIfMatch(source.etag())
            .copySourceRange("bytes=" + range.start() + "-" + (range.start() + range.length() - 1))
            .copySourceSSECustomerAlgorithm(begin.sseCustomerAlgorithm())
            .copySourceSSECustomerKey(begin.sseCustomerKey())
            .copySourceSSECustomerKeyMD5(begin.sseCustomerKeyMD5())
            .destinationBucket(begin.bucket())
            .destinationKey(key)
            .uploadId(id)
            .partNumber(number)
            .sseCustomerAlgorithm(begin.sseCustomerAlgorithm())
            .sseCustomerKey(begin.sseCustomerKey())
            .sseCustomerKeyMD5(begin.sseCustomerKeyMD5())
            .overrideConfiguration(S3Upload::setTimeout)
            .build();
    CopyPartResult made =
        bucket.call(target, () -> bucket.client().uploadPartCopy(request)).copyPartResult();
    return CompletedPart.builder()
        .partNumber(number)
        .eTag(made.eTag())
        .checksumCRC32(made.checksumCRC32())
        .checksumCRC32C(made.checksumCRC32C())
        .checksumSHA1(made.checksumSHA1())
        .checksumSHA256(made.checksumSHA256())
        .build();
  }

  private CompletedPart send(byte[] content, int number) throws IOException {
    UploadPartRequest request =
        UploadPartRequest.builder()
            .bucket(begin.bucket())
            .key(key)
            .uploadId(id)
            .partNumber(number)
            .contentLength((long) content.length)
            .checksumAlgorithm(begin.checksumAlgorithm())
            .sseCustomerAlgorithm(begin.sseCustomerAlgorithm())
            .sseCustomerKey(begin.sseCustomerKey())
            .sseCustomerKeyMD5(begin.sseCustomerKeyMD5())
            .overrideConfiguration(S3Upload::setTimeout)
            .build();
    UploadPartResponse made =
        bucket.call(
            target, () -> bucket.client().uploadPart(request, RequestBody.fromBytes(content)));
    return CompletedPart.builder()
        .partNumber(number)
        .eTag(made.eTag())
        .checksumCRC32(made.checksumCRC32())
        .checksumCRC32C(made.checksumCRC32C())
        .checksumSHA1(made.checksumSHA1())
        .checksumSHA256(made.checksumSHA256())
        .build();
  }

  /** Reads the bytes of a part. Ranges that are close together are read by one request. */
  private byte[] content(Sent part) throws IOException {
    ByteArrayOutputStream content = new ByteArrayOutputStream();
    List<Piece> pieces = part.pieces();
    for (int first = 0, next; first < pieces.size(); first = next) {
      next = first + 1;
      if (!(pieces.get(first) instanceof Range range)) {
        content.writeBytes(((New) pieces.get(first)).bytes());
        continue;
      }
      long end = range.start() + range.length();
      while (next < pieces.size()
          && pieces.get(next) instanceof Range another
          && another.start() >= end
          && another.start() - end <= MAX_GAP
          && another.start() + another.length() - range.start() <= READ_AT_ONCE) {
        end = another.start() + another.length();
        next++;
      }
      byte[] read = new byte[(int) (end - range.start())];
      source.fetch(range.start(), read);
      for (Piece piece : pieces.subList(first, next)) {
        Range wanted = (Range) piece;
        content.write(read, (int) (wanted.start() - range.start()), (int) wanted.length());
      }
    }
    return content.toByteArray();
  }

  private static void setTimeout(AwsRequestOverrideConfiguration.Builder request) {
    request.apiCallTimeout(TIMEOUT).apiCallAttemptTimeout(TIMEOUT);
  }

  private void complete(List<CompletedPart> parts) throws IOException {
    CompleteMultipartUploadRequest.Builder request =
        CompleteMultipartUploadRequest.builder()
            .bucket(begin.bucket())
            .key(key)
            .uploadId(id)
            .multipartUpload(upload -> upload.parts(parts))
            .overrideConfiguration(headers -> headers.putHeader("If-None-Match", "*"));
    if (begin.checksumAlgorithm() != null) { // S3 needs the key to compare checksums
      request
          .sseCustomerAlgorithm(begin.sseCustomerAlgorithm())
          .sseCustomerKey(begin.sseCustomerKey())
          .sseCustomerKeyMD5(begin.sseCustomerKeyMD5());
    }
    try {
      bucket.call(target, () -> bucket.client().completeMultipartUpload(request.build()));
    } catch (StoreRefusedException refused) {
      if (!exists(refused)) {
        throw refused;
      }
    }
  }

  /** Returns whether the object was created although its response was lost: its name is unique. */
  private boolean exists(StoreRefusedException refused) {
    long length = pieces.stream().mapToLong(Piece::length).sum();
    try {
      HeadObjectResponse head =
          bucket.call(
              target,
              () ->
                  bucket
                      .client()
                      .headObject(bucket.requests().newHeadObjectRequestBuilder(key).build()));
      return head.contentLength() == length;
    } catch (IOException unknown) {
      refused.addSuppressed(unknown);
      return false;
    }
  }
}
