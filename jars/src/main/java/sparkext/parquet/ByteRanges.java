// SPDX-License-Identifier: Apache-2.0
package sparkext.parquet;

import java.io.IOException;
import java.io.OutputStream;
import org.apache.hadoop.fs.FSDataInputStream;

/** The bytes of a file before its footer, read in pieces. */
final class ByteRanges {
  private static final int PIECE = 1 << 20;

  private final FSDataInputStream file;
  private final long end;
  private final byte[] buffer = new byte[PIECE];

  ByteRanges(FSDataInputStream file, long end) {
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
    file.readFully(start, bytes);
    return bytes;
  }

  void copy(long start, long length, OutputStream target) throws IOException {
    file.seek(start);
    for (long rest = length; rest > 0; ) {
      int piece = (int) Math.min(rest, PIECE);
      file.readFully(buffer, 0, piece);
      target.write(buffer, 0, piece);
      rest -= piece;
    }
  }
}
