// SPDX-License-Identifier: Apache-2.0
package sparkext.s3;

import java.util.ArrayList;
import java.util.List;

/**
 * Plans the parts of a multipart upload whose object has bytes of a source object. The store copies
 * long ranges of the source. The task sends short ranges and new bytes.
 *
 * <p>Source: Amazon S3 User Guide, "Amazon S3 multipart upload limits".
 */
final class PartPlan {
  /** The minimum length of every part except the last. */
  static final long MIN_PART = 5L << 20;

  static final long MAX_PART = 5L << 30;
  static final int MAX_PARTS = 10_000;

  /** The usual maximum length of a copied part. A request for a longer part may time out. */
  private static final long COPIED_PART = 256L << 20;

  /** The largest minimum length. A part that a task sends is in the memory of the task. */
  private static final long MAX_MIN_PART = 16 * MIN_PART;

  private final long min;
  private final long max;
  private final List<Part> parts = new ArrayList<>();
  private List<Piece> pending = new ArrayList<>();
  private long pendingLength;

  /** A piece of the object. */
  sealed interface Piece {
    long length();
  }

  /** A range of bytes of the source. */
  record Range(long start, long length) implements Piece {
    Range first(long bytes) {
      return new Range(start, bytes);
    }

    Range after(long bytes) {
      return new Range(start + bytes, length - bytes);
    }
  }

  /** Bytes that the source does not have. */
  record New(byte[] bytes) implements Piece {
    @Override
    public long length() {
      return bytes.length;
    }
  }

  /** A part of the upload. */
  sealed interface Part {}

  /** A part that the store copies. */
  record Copied(Range range) implements Part {}

  /** A part that the task sends. */
  record Sent(List<Piece> pieces) implements Part {
    long length() {
      return pieces.stream().mapToLong(Piece::length).sum();
    }
  }

  private PartPlan(long min, long max) {
    this.min = min;
    this.max = max;
  }

  /**
   * Returns the parts of an object; empty if the object would have too many.
   *
   * @param pieces each with bytes; adjacent ranges are joined
   */
  static List<Part> of(List<? extends Piece> pieces) {
    for (long min = MIN_PART, max = COPIED_PART; min <= MAX_MIN_PART; min *= 2, max *= 2) {
      List<Part> parts = new PartPlan(min, Math.min(max, MAX_PART)).parts(pieces);
      if (parts.size() <= MAX_PARTS) {
        return parts;
      }
    }
    return List.of();
  }

  private List<Part> parts(List<? extends Piece> pieces) {
    for (Piece piece : pieces) {
      if (piece instanceof Range range) {
        add(range);
      } else {
        send(piece);
      }
    }
    flush();
    return parts;
  }

  /** Fills the pending part with the first bytes of a range, and copies the rest. */
  private void add(Range range) {
    long lacking = pendingLength == 0 ? 0 : Math.max(0, min - pendingLength);
    if (range.length() - lacking < min) {
      send(range);
      return;
    }
    if (lacking > 0) {
      send(range.first(lacking));
    }
    flush();
    copy(range.after(lacking));
  }

  private void send(Piece piece) {
    pending.add(piece);
    pendingLength += piece.length();
    if (pendingLength >= min) {
      flush();
    }
  }

  private void flush() {
    if (!pending.isEmpty()) {
      parts.add(new Sent(pending));
      pending = new ArrayList<>();
      pendingLength = 0;
    }
  }

  /** Copies a range in parts of similar length, so that none is too short. */
  private void copy(Range range) {
    long count = (range.length() + max - 1) / max;
    Range left = range;
    for (long rest = count; rest > 0; rest--) {
      long length = left.length() / rest;
      parts.add(new Copied(left.first(length)));
      left = left.after(length);
    }
  }
}
