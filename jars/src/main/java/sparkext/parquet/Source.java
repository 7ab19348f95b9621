// SPDX-License-Identifier: Apache-2.0
package sparkext.parquet;

import java.io.Closeable;
import java.io.EOFException;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.channels.WritableByteChannel;
import java.nio.file.NoSuchFileException;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/** A file that is read at any place, and copied from there in pieces. */
interface Source extends Closeable {
  /**
   * Opens a file.
   *
   * @param size of it, as the table's log has it
   * @throws EndException if it is small, and smaller than that
   * @throws NotParquetException if there is none
   */
  static Source open(Storages storages, Path path, long size)
      throws IOException, NotParquetException {
    Source file = open(storages.of(path), path);
    if (!storages.isSmall(size)) {
      return file;
    }
    try (file) {
      byte[] bytes = new byte[(int) Math.max(size, 0)];
      file.read(0, bytes);
      return new InMemory(bytes);
    }
  }

  private static Source open(FileSystem storage, Path path)
      throws IOException, NotParquetException {
    try {
      return LocalDisk.has(storage)
          ? new OfDisk(FileChannel.open(LocalDisk.file(storage, path)))
          : new OfStream(storage.open(path));
    } catch (FileNotFoundException | NoSuchFileException missing) {
      throw new MissingFileException();
    }
  }

  /**
   * Fills an array from a place in the file.
   *
   * @throws EndException if the file ends before
   */
  void read(long start, byte[] bytes) throws IOException;

  /**
   * Copies a range to where the target stands.
   *
   * @param checkpoint runs before each piece, and ends the copy by an exception
   * @throws EndException if the file ends before
   */
  void copy(long start, long length, OutputStream target, Runnable checkpoint) throws IOException;

  /** Of the file that is read: a storage that is written to may have ends of its own. */
  final class EndException extends IOException {
    private static final long serialVersionUID = 1L;
  }

  /** A file on any storage, through a buffer. */
  record OfStream(FSDataInputStream file) implements Source {
    private static final int PIECE = 1 << 20;

    @Override
    public void read(long start, byte[] bytes) throws IOException {
      try {
        file.readFully(start, bytes);
      } catch (EOFException end) {
        throw new EndException();
      }
    }

    @Override
    public void copy(long start, long length, OutputStream target, Runnable checkpoint)
        throws IOException {
      byte[] buffer = new byte[(int) Math.min(length, PIECE)];
      file.seek(start);
      for (long rest = length; rest > 0; ) {
        checkpoint.run();
        int piece = (int) Math.min(rest, buffer.length);
        try {
          file.readFully(buffer, 0, piece);
        } catch (EOFException end) {
          throw new EndException();
        }
        target.write(buffer, 0, piece);
        rest -= piece;
      }
    }

    @Override
    public void close() throws IOException {
      file.close();
    }
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
