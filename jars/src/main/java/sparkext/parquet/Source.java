// SPDX-License-Identifier: Apache-2.0
package sparkext.parquet;

import java.io.Closeable;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.channels.WritableByteChannel;

/** A file that is read at any place, and copied from there in pieces. */
interface Source extends Closeable {
  /**
   * Fills an array from a place in the file.
   *
   * @throws EndException if the file ends before
   * @throws GoneException if there is no such file any more
   */
  void read(long start, byte[] bytes) throws IOException;

  /**
   * Copies a range to where the target stands.
   *
   * @param checkpoint runs before each piece, and ends the copy by an exception
   * @throws EndException if the file ends before
   * @throws GoneException if there is no such file any more
   */
  void copy(long start, long length, OutputStream target, Runnable checkpoint) throws IOException;

  /** Of the file that is read: a storage that is written to may have ends of its own. */
  final class EndException extends IOException {
    private static final long serialVersionUID = 1L;
  }

  /** Of the file that is read: a storage that is written to may lack folders. */
  final class GoneException extends IOException {
    private static final long serialVersionUID = 1L;
  }

  /** A file on a local disk, which the kernel copies by itself. */
  record OfDisk(FileChannel file) implements Source {
    private static final int PIECE = 16 << 20;

    @Override
    public void read(long start, byte[] bytes) throws IOException {
      ByteBuffer rest = ByteBuffer.wrap(bytes);
      while (rest.hasRemaining()) {
        if (file.read(rest, start + rest.position()) < 0) {
          throw new EndException();
        }
      }
    }

    /** To a {@link DiskStream} without a buffer in between. */
    @Override
    public void copy(long start, long length, OutputStream target, Runnable checkpoint)
        throws IOException {
      WritableByteChannel channel =
          target instanceof DiskStream disk ? disk.channel() : Channels.newChannel(target);
      for (long done = 0; done < length; ) {
        checkpoint.run();
        long moved = file.transferTo(start + done, Math.min(length - done, PIECE), channel);
        if (moved <= 0) {
          throw new EndException();
        }
        done += moved;
      }
    }

    @Override
    public void close() throws IOException {
      file.close();
    }
  }

  /** A small file, read already. */
  record InMemory(byte[] file) implements Source {
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
