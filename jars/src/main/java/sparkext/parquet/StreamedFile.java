// SPDX-License-Identifier: Apache-2.0
package sparkext.parquet;

import java.io.EOFException;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.OutputStream;
import java.util.Set;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Options.OpenFileOptions;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.util.functional.FutureIO;

/**
 * A file on any storage, through a buffer.
 *
 * <p>Opened anew every so often, and as one that is read from its begin to its end: what is read
 * out of order costs an object store a request for each piece, and some streams hold all that they
 * have read, or foresee, until they are closed.
 *
 * <p>Source: Hadoop, fsdatainputstreambuilder.md; AnalyticsStream.java.
 */
final class StreamedFile implements Source {
  private static final int PIECE = 1 << 20;

  /**
   * What listens to how a file will be read. Not what is derived from it, or stands before it: that
   * may change what is read by {@code open}, and leave {@code openFile} as it is.
   */
  private static final Set<String> LISTENING =
      Set.of(
          "org.apache.hadoop.fs.s3a.S3AFileSystem",
          "org.apache.hadoop.fs.azurebfs.AzureBlobFileSystem",
          "org.apache.hadoop.fs.azurebfs.SecureAzureBlobFileSystem");

  /** How much one stream reads. */
  private static final long STRETCH = 128L << 20;

  private final FileSystem storage;
  private final Path path;
  private final long size;
  private final Window window = new Window();
  private FSDataInputStream stream;
  private long streamed;

  /**
   * @param size of the file, as the table's log has it
   */
  StreamedFile(FileSystem storage, Path path, long size) {
    this.storage = storage;
    this.path = path;
    this.size = size;
  }

  @Override
  public void read(long start, byte[] bytes) throws IOException {
    window.read(start, bytes, size, this::fill);
  }

  private void fill(long start, byte[] bytes) throws IOException {
    try (FSDataInputStream file = open()) {
      file.seek(start);
      readFully(file, bytes, bytes.length);
    }
  }

  private void readFully(FSDataInputStream file, byte[] bytes, int length) throws IOException {
    try {
      file.readFully(bytes, 0, length);
    } catch (EOFException end) {
      requireEnd(end);
      throw new EndException();
    } catch (FileNotFoundException gone) {
      throw new GoneException();
    }
  }

  /** Some storages call the end of a connection so. */
  private void requireEnd(EOFException end) throws EOFException {
    try {
      if (storage.getFileStatus(path).getLen() < size) {
        return;
      }
    } catch (IOException unknown) {
      end.addSuppressed(unknown);
    }
    throw end;
  }

  @Override
  public void copy(long start, long length, OutputStream target, Runnable checkpoint)
      throws IOException {
    byte[] buffer = new byte[(int) Math.min(length, PIECE)];
    for (long done = 0; done < length; ) {
      checkpoint.run();
      int piece = (int) Math.min(length - done, buffer.length);
      readFully(streamAt(start + done, piece), buffer, piece);
      target.write(buffer, 0, piece);
      done += piece;
    }
  }

  private FSDataInputStream streamAt(long position, int length) throws IOException {
    if (stream == null || streamed + length > STRETCH) {
      close();
      stream = open();
      streamed = 0;
    }
    if (stream.getPos() != position) {
      stream.seek(position);
    }
    streamed += length;
    return stream;
  }

  private FSDataInputStream open() throws IOException {
    try {
      return LISTENING.contains(storage.getClass().getName()) ? openWhole() : storage.open(path);
    } catch (FileNotFoundException missing) {
      throw new GoneException();
    }
  }

  private FSDataInputStream openWhole() throws IOException {
    return FutureIO.awaitFuture(
        storage
            .openFile(path)
            .opt(
                OpenFileOptions.FS_OPTION_OPENFILE_READ_POLICY,
                OpenFileOptions.FS_OPTION_OPENFILE_READ_POLICY_WHOLE_FILE)
            .opt(OpenFileOptions.FS_OPTION_OPENFILE_LENGTH, Long.toString(size))
            .build());
  }

  @Override
  public void close() throws IOException {
    if (stream != null) {
      FSDataInputStream opened = stream;
      stream = null;
      opened.close();
    }
  }
}
