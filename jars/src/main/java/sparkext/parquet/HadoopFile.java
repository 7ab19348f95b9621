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
 * A file on any storage, read by Hadoop's streams.
 *
 * <p>A stream is opened for sequential reads, because an object store needs a request for each
 * random read. A new stream is opened after 128 MiB, because some streams keep all bytes that they
 * read or prefetch until they are closed.
 *
 * <p>Source: Hadoop, fsdatainputstreambuilder.md; AnalyticsStream.java.
 */
final class HadoopFile extends InputFile.ReadAhead {
  private static final int PIECE = 1 << 20;

  /**
   * File systems that use the read policy of {@code openFile}. Other subclasses and wrappers are
   * not listed, because they may override {@code open} without {@code openFile}.
   */
  private static final Set<String> WITH_READ_POLICY =
      Set.of(
          "org.apache.hadoop.fs.s3a.S3AFileSystem",
          "org.apache.hadoop.fs.azurebfs.AzureBlobFileSystem",
          "org.apache.hadoop.fs.azurebfs.SecureAzureBlobFileSystem");

  /** The number of bytes that are read from one stream. */
  private static final long STREAM_BYTES = 128L << 20;

  private final FileSystem storage;
  private final Path path;
  private FSDataInputStream stream;
  private long streamed;

  /**
   * @param size of the file according to the log
   */
  HadoopFile(FileSystem storage, Path path, long size) {
    super(size);
    this.storage = storage;
    this.path = path;
  }

  @Override
  protected void fetch(long from, byte[] target) throws IOException {
    try (FSDataInputStream file = open()) {
      readFully(file, from, target, target.length);
    }
  }

  /** Reads from a position. Some storages fail to seek beyond the end of a file. */
  private void readFully(FSDataInputStream file, long from, byte[] bytes, int length)
      throws IOException {
    try {
      if (file.getPos() != from) {
        file.seek(from);
      }
      file.readFully(bytes, 0, length);
    } catch (EOFException end) {
      requireTruncated(end);
      throw UnreadableFileException.shorterThan(size());
    } catch (FileNotFoundException missing) {
      throw new MissingFileException();
    }
  }

  /** Throws if the file is complete: some storages report a lost connection as the end of file. */
  private void requireTruncated(EOFException end) throws EOFException {
    try {
      if (storage.getFileStatus(path).getLen() < size()) {
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
      readFully(streamFor(piece), start + done, buffer, piece);
      target.write(buffer, 0, piece);
      done += piece;
    }
  }

  private FSDataInputStream streamFor(int length) throws IOException {
    if (stream == null || streamed + length > STREAM_BYTES) {
      close();
      stream = open();
      streamed = 0;
    }
    streamed += length;
    return stream;
  }

  private FSDataInputStream open() throws IOException {
    try {
      return WITH_READ_POLICY.contains(storage.getClass().getName())
          ? openWhole()
          : storage.open(path);
    } catch (FileNotFoundException missing) {
      throw new MissingFileException();
    }
  }

  private FSDataInputStream openWhole() throws IOException {
    return FutureIO.awaitFuture(
        storage
            .openFile(path)
            .opt(
                OpenFileOptions.FS_OPTION_OPENFILE_READ_POLICY,
                OpenFileOptions.FS_OPTION_OPENFILE_READ_POLICY_WHOLE_FILE)
            .opt(OpenFileOptions.FS_OPTION_OPENFILE_LENGTH, Long.toString(size()))
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
