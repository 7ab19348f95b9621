// SPDX-License-Identifier: Apache-2.0
package sparkext.parquet;

import java.io.IOException;

/**
 * The part of a file that was read last, and with it what is likely to be asked for next: a footer
 * stands before its length, one index behind the other.
 */
final class Window {
  private static final int LENGTH = 128 << 10;

  private long start;
  private byte[] bytes = {};

  /** How a part of the file is read. */
  interface Fill {
    void run(long start, byte[] bytes) throws IOException;
  }

  /** Fills an array from a place in a file of this size. */
  void read(long from, byte[] target, long size, Fill fill) throws IOException {
    if (!holds(from, target.length)) {
      int length = (int) Math.max(target.length, Math.min(LENGTH, size));
      long first = Math.max(0, Math.min(from, size - length));
      byte[] filled = new byte[length];
      fill.run(first, filled);
      start = first;
      bytes = filled;
    }
    System.arraycopy(bytes, (int) (from - start), target, 0, target.length);
  }

  /** Whether a range was read already. */
  boolean holds(long from, long length) {
    return from >= start && from + length <= start + bytes.length;
  }
}
