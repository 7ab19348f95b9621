// SPDX-License-Identifier: Apache-2.0
package sparkext.parquet;

import java.io.Closeable;
import java.io.IOException;
import java.io.OutputStream;

/** A file that is read at any position. */
interface InputFile extends Closeable {
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
}
