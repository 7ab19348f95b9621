// SPDX-License-Identifier: Apache-2.0
package sparkext.s3;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
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
import sparkext.s3.PartPlan.Copied;
import sparkext.s3.PartPlan.New;
import sparkext.s3.PartPlan.Part;
import sparkext.s3.PartPlan.Piece;
import sparkext.s3.PartPlan.Range;
import sparkext.s3.PartPlan.Sent;

/**
 * A new object that has bytes of another one, which the store copies. It is made when this is
 * closed, whole or not at all.
 *
 * <p>Source: Amazon S3 API Reference, UploadPartCopy, CompleteMultipartUpload.
 */
public final class S3Upload extends OutputStream {
  /** For a request that has the store copy: as S3A has it for one that uploads a part. */
  private static final Duration PATIENCE = Duration.ofMinutes(15);

  /** Bytes that nobody wants are read where that saves a request. */
  private static final long GAP = 1 << 20;

  private static final long READ_AT_ONCE = 16 << 20;

  /** A part that all threads of a task may have in memory at once. */
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
   * A new object of a bucket, made of another one.
   *
   * @param checkpoint runs before each part, and ends the upload by an exception
   */
  public S3Upload(S3Bucket bucket, S3Object source, Path target, Runnable checkpoint) {
    this.bucket = bucket;
    this.source = source;
    this.target = target;
    this.key = bucket.key(target);
    this.checkpoint = checkpoint;
  }

  /** Appends a range of the source. */
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

  /** Makes nothing of what was appended, and has the store forget what it was told. */
  public void abort() throws IOException {
    isEnded = true;
    if (id != null) {
      bucket.abort(target, key, id);
    }
  }

  /**
   * Makes the object.
   *
   * @throws StoreRefusedException if the store does not; it is then to be aborted
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
    return sent.length() <= SMALL ? work.apply() : bucket.buffers().run(work);
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
            .overrideConfiguration(S3Upload::bePatient)
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
            .overrideConfiguration(S3Upload::bePatient)
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

  /** The bytes of a part, for which ranges that are close together are read by one request. */
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
          && another.start() - end <= GAP
          && another.start() + another.length() - range.start() <= READ_AT_ONCE) {
        end = another.start() + another.length();
        next++;
      }
      byte[] read = new byte[(int) (end - range.start())];
      source.read(range.start(), read);
      for (Piece piece : pieces.subList(first, next)) {
        Range wanted = (Range) piece;
        content.write(read, (int) (wanted.start() - range.start()), (int) wanted.length());
      }
    }
    return content.toByteArray();
  }

  private static void bePatient(AwsRequestOverrideConfiguration.Builder request) {
    request.apiCallTimeout(PATIENCE).apiCallAttemptTimeout(PATIENCE);
  }

  private void complete(List<CompletedPart> parts) throws IOException {
    CompleteMultipartUploadRequest.Builder request =
        CompleteMultipartUploadRequest.builder()
            .bucket(begin.bucket())
            .key(key)
            .uploadId(id)
            .multipartUpload(upload -> upload.parts(parts))
            .overrideConfiguration(never -> never.putHeader("If-None-Match", "*"));
    if (begin.checksumAlgorithm() != null) { // S3 wants the key for the checksums' sake
      request
          .sseCustomerAlgorithm(begin.sseCustomerAlgorithm())
          .sseCustomerKey(begin.sseCustomerKey())
          .sseCustomerKeyMD5(begin.sseCustomerKeyMD5());
    }
    try {
      bucket.call(target, () -> bucket.client().completeMultipartUpload(request.build()));
    } catch (StoreRefusedException refused) {
      if (!isThere(refused)) {
        throw refused;
      }
    }
  }

  /** Whether the object was made though it was not answered so: nobody else has its name. */
  private boolean isThere(StoreRefusedException refused) {
    long length = pieces.stream().mapToLong(Piece::length).sum();
    try {
      HeadObjectResponse there =
          bucket.call(
              target,
              () ->
                  bucket
                      .client()
                      .headObject(bucket.requests().newHeadObjectRequestBuilder(key).build()));
      return there.contentLength() == length;
    } catch (IOException unknown) {
      refused.addSuppressed(unknown);
      return false;
    }
  }
}
