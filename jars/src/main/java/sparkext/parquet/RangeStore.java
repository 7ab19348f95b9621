// SPDX-License-Identifier: Apache-2.0
package sparkext.parquet;

import java.io.IOException;
import java.io.OutputStream;
import org.apache.hadoop.fs.Path;

/**
 * A storage that copies ranges of its files without a download. Its methods throw {@link
 * StoreRefusedException} if the storage refuses or fails.
 */
public interface RangeStore {
  /** Returns the length that a file must exceed. */
  long leastCopied();

  /**
   * Opens a file, whose {@code copy} needs a stream of {@link #create}.
   *
   * @param size of the file according to the log
   */
  InputFile open(Path path, long size);

  /**
   * Creates a stream with the bytes and the ranges of a file.
   *
   * @param source is a file of {@link #open}
   * @param checkpoint runs before each part, and ends the upload by an exception
   */
  Upload create(InputFile source, Path target, Runnable checkpoint);

  /** A stream that creates its file when the stream is closed. */
  abstract class Upload extends OutputStream {
    /** Appends a range of the source. */
    public abstract void copy(long start, long length);

    /** Ends the stream without a file. */
    public abstract void abort() throws IOException;
  }
}
