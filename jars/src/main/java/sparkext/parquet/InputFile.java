// SPDX-License-Identifier: Apache-2.0
package sparkext.parquet;

import java.io.Closeable;
import java.io.IOException;
import java.io.OutputStream;

/** A file that is read at any position. */
public interface InputFile extends Closeable {
  /**
   * Fills an array with the bytes at a position.
   *
   * @throws UnreadableFileException if the file is shorter than the log says
   * @throws MissingFileException if the file does not exist
   */
  void read(long start, byte[] bytes) throws IOException;

  /**
   * Appends a range of bytes to a target.
   *
   * @param checkpoint runs before each piece, and may throw to end the copy
   * @throws UnreadableFileException if the file is shorter than the log says
   * @throws MissingFileException if the file does not exist
   */
  void copy(long start, long length, OutputStream target, Runnable checkpoint) throws IOException;

  /** A small file whose bytes are in memory. */
  record InMemory(byte[] file) implements InputFile {
    @Override
    public void read(long start, byte[] bytes) {
      System.arraycopy(file, (int) start, bytes, 0, bytes.length);
    }

    @Override
    public void copy(long start, long length, OutputStream target, Runnable checkpoint)
        throws IOException {
      checkpoint.run();
      target.write(file, (int) start, (int) length);
    }

    @Override
    public void close() {}
  }

  /**
   * A file whose storage answers each read by a request. A read also fetches the bytes that are
   * likely to be read next: a footer precedes its length, and page indexes follow each other.
   */
  abstract class ReadAhead implements InputFile {
    private static final int LENGTH = 128 << 10;

    private final long size;
    private long start;
    private byte[] bytes = {};

    /**
     * @param size of the file according to the log
     */
    protected ReadAhead(long size) {
      this.size = size;
    }

    /** Fills an array by one request. */
    protected abstract void fetch(long from, byte[] target) throws IOException;

    protected final long size() {
      return size;
    }

    @Override
    public final void read(long from, byte[] target) throws IOException {
      if (!isFetched(from, target.length)) {
        int length = (int) Math.max(target.length, Math.min(LENGTH, size));
        long first = Math.max(0, Math.min(from, size - length));
        byte[] fetched = new byte[length];
        fetch(first, fetched);
        start = first;
        bytes = fetched;
      }
      System.arraycopy(bytes, (int) (from - start), target, 0, target.length);
    }

    /** Returns whether a range is in memory. */
    protected final boolean isFetched(long from, long length) {
      return from >= start && from + length <= start + bytes.length;
    }
  }
}
