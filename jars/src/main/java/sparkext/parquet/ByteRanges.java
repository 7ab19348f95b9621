// SPDX-License-Identifier: Apache-2.0
package sparkext.parquet;

import java.io.IOException;
import java.io.OutputStream;

/** The bytes of a file before its footer. */
final class ByteRanges {
  private final Source file;
  private final long end;

  /**
   * @param end where the footer begins
   */
  ByteRanges(Source file, long end) {
    this.file = file;
    this.end = end;
  }

  /** Refuses a range that is not between the first magic number and the footer. */
  void require(long start, long length) throws NotCopiedException {
    if (start < Footer.MAGIC.length || length < 0 || start > end - length) {
      throw new NotCopiedException("its footer points outside of the file");
    }
  }

  /** As many of these bytes as there are before the footer. */
  int atMost(long start, int length) {
    return (int) Math.max(0, Math.min(length, end - start));
  }

  byte[] read(long start, int length) throws IOException, NotCopiedException {
    require(start, length);
    byte[] bytes = new byte[length];
    file.read(start, bytes);
    return bytes;
  }

  /** Copies a range as {@link Source#copy} does. */
  void copy(long start, long length, OutputStream target, Runnable checkpoint) throws IOException {
    file.copy(start, length, target, checkpoint);
  }
}
