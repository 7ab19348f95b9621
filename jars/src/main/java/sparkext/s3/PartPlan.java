// SPDX-License-Identifier: Apache-2.0
package sparkext.s3;

import java.util.ArrayList;
import java.util.List;

/**
 * The parts of a multipart upload whose object has bytes of another one: long ranges are copied by
 * the store, short ones are sent with what is new.
 *
 * <p>Source: Amazon S3 User Guide, "Amazon S3 multipart upload limits".
 */
final class PartPlan {
  /** Of every part but the last. */
  static final long MIN_PART = 5L << 20;

  static final long MAX_PART = 5L << 30;
  static final int MAX_PARTS = 10_000;

  /** A copy of this length is over before the store, or what stands before it, loses patience. */
  private static final long COPIED_PART = 256L << 20;

  /** The least length of a part may grow to this: so much, and half of it, a task holds. */
  private static final long MAX_MIN_PART = 16 * MIN_PART;

  private final long min;
  private final long max;
  private final List<Part> parts = new ArrayList<>();
  private List<Piece> pending = new ArrayList<>();
  private long pendingLength;

  /** What an object consists of, in its order. */
  sealed interface Piece {
    long length();
  }

  /** Bytes of the source. */
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

  sealed interface Part {}

  /** By the store. */
  record Copied(Range range) implements Part {}

  /** By this task. */
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
   * The parts of an object; none where it would take too many.
   *
   * @param pieces that have bytes, of which no two ranges could be one
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

  /** What is pending is made a whole part with the first bytes of the range. */
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

  /** In parts of about the same length, so that none is too short. */
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
