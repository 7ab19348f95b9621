// SPDX-License-Identifier: Apache-2.0
package sparkext.parquet;

import java.io.IOException;
import java.io.OutputStream;
import java.io.Serializable;
import java.net.URI;
import java.nio.ByteBuffer;
import java.util.zip.CRC32;
import org.apache.hadoop.fs.Path;

/**
 * A deletion vector in a file.
 *
 * <p>Source: Protocol, "Deletion Vector File Storage Format"; Delta 4.4.0,
 * DeletionVectorStore.scala, {@code readRangeFromStream}.
 *
 * @param file the absolute path as a URI
 * @param offset of the vector in the file, in bytes
 * @param size of the vector in bytes, according to the log
 */
public record StoredVector(String file, int offset, int size) implements Serializable {
  /** The offset of the first vector in a file. */
  public static final int FIRST = 1;

  /** The size before a vector and the checksum after it, in bytes. */
  private static final int FRAME = 2 * Integer.BYTES;

  private static final byte VERSION = 1;

  /** Returns the length of a file that contains only this vector. */
  public long lengthAlone() {
    return FIRST + FRAME + (long) size;
  }

  /**
   * Reads the vector.
   *
   * @throws MissingFileException if its file does not exist
   * @throws UnreadableFileException if its file does not contain the vector that the log describes
   */
  public byte[] read(Storages storages) throws IOException {
    if (offset < 0 || size < 0) {
      throw new UnreadableFileException("the log says that it has " + size + " bytes at " + offset);
    }
    long end = (long) offset + FRAME + size;
    try (InputFile source = storages.open(path(), end)) {
      int stored = readInt(source, offset);
      if (stored != size) {
        throw new UnreadableFileException(
            "it has " + stored + " bytes, and the log says that it has " + size);
      }
      byte[] vector = new byte[size];
      source.read((long) offset + Integer.BYTES, vector);
      if (readInt(source, (long) offset + Integer.BYTES + size) != checksum(vector)) {
        throw new UnreadableFileException("its checksum does not match its bytes");
      }
      return vector;
    }
  }

  private static int readInt(InputFile source, long offset) throws IOException {
    byte[] bytes = new byte[Integer.BYTES];
    source.read(offset, bytes);
    return ByteBuffer.wrap(bytes).getInt();
  }

  private static int checksum(byte[] vector) {
    CRC32 checksum = new CRC32();
    checksum.update(vector);
    return (int) checksum.getValue();
  }

  /**
   * Writes a file with one vector. An incomplete file is removed.
   *
   * @param target a path that does not exist yet
   */
  public static void write(byte[] vector, Storages storages, Path target) throws IOException {
    byte[] file =
        ByteBuffer.allocate(FIRST + FRAME + vector.length)
            .put(VERSION)
            .putInt(vector.length)
            .put(vector)
            .putInt(checksum(vector))
            .array();
    OutputStream stream = storages.create(target);
    try {
      stream.write(file);
      stream.close();
    } catch (Throwable failed) {
      storages.remove(target, stream, failed);
      throw failed;
    }
  }

  /** Returns the path of the file for messages. */
  public String place() {
    try {
      return path().toString();
    } catch (UnreadableFileException none) {
      return file;
    }
  }

  private Path path() throws UnreadableFileException {
    try {
      return new Path(URI.create(file));
    } catch (IllegalArgumentException broken) {
      throw new UnreadableFileException("its path is not the URI of a file");
    }
  }
}
