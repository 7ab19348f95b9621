// SPDX-License-Identifier: Apache-2.0
package sparkext.parquet;

import java.io.IOException;
import java.io.OutputStream;
import java.io.Serializable;
import java.net.URI;
import java.nio.ByteBuffer;
import java.util.zip.CRC32;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;

/**
 * A deletion vector in a file.
 *
 * <p>Source: Protocol, "Deletion Vector File Storage Format"; Delta 4.4.0,
 * DeletionVectorStore.scala, {@code readRangeFromStream}.
 *
 * @param file its absolute path, as a URI
 * @param offset of the vector in the file, in bytes
 * @param size of the vector in bytes, as the table's log has it
 */
public record StoredVector(String file, int offset, int size) implements Serializable {
  /** The offset of the first vector in a file. */
  public static final int FIRST = 1;

  /** Bytes of the size before a vector, and of the checksum after it. */
  private static final int FRAME = 2 * Integer.BYTES;

  private static final byte VERSION = 1;

  /** The length of a file with this vector alone. */
  public long lengthAlone() {
    return FIRST + FRAME + (long) size;
  }

  /**
   * Reads the vector.
   *
   * @throws MissingFileException if its file does not exist
   * @throws BrokenVectorException if its file does not contain what the log says
   */
  public byte[] read(Storages storages)
      throws IOException, BrokenVectorException, MissingFileException {
    if (offset < 0 || size < 0) {
      throw new BrokenVectorException("the log says that it has " + size + " bytes at " + offset);
    }
    long end = (long) offset + FRAME + size;
    try (Source source = storages.open(path(), end)) {
      int told = readInt(source, offset);
      if (told != size) {
        throw new BrokenVectorException(
            "it has " + told + " bytes, and the log says that it has " + size);
      }
      return readRest(source, offset, size);
    } catch (Source.EndException cut) {
      throw new BrokenVectorException("its file has fewer than " + end + " bytes");
    } catch (Source.GoneException gone) {
      throw new MissingFileException();
    } catch (UnknownStorageException unknown) {
      throw new BrokenVectorException(unknown.getMessage());
    }
  }

  /**
   * Reads a whole file of vectors.
   *
   * @throws MissingFileException if it does not exist
   * @throws BrokenVectorException if it contains anything else
   */
  public static void requireNothingElse(Configuration configuration, Path file, long length)
      throws IOException, BrokenVectorException, MissingFileException {
    try (Source source = new Storages(configuration).open(file, length)) {
      byte[] version = new byte[FIRST];
      source.read(0, version);
      long offset = FIRST;
      while (version[0] == VERSION && offset + FRAME <= length) {
        int size = readInt(source, offset);
        if (size < 0 || size > length - offset - FRAME) {
          break;
        }
        readRest(source, offset, size);
        offset += FRAME + (long) size;
      }
      if (offset != length) {
        throw new BrokenVectorException("it is no file of deletion vectors");
      }
    } catch (Source.EndException cut) {
      throw new BrokenVectorException("it has fewer than " + length + " bytes");
    } catch (Source.GoneException gone) {
      throw new MissingFileException();
    }
  }

  private static byte[] readRest(Source source, long offset, int size)
      throws IOException, BrokenVectorException {
    byte[] vector = new byte[size];
    source.read(offset + Integer.BYTES, vector);
    if (readInt(source, offset + Integer.BYTES + size) != checksum(vector)) {
      throw new BrokenVectorException("its checksum is not that of its bytes");
    }
    return vector;
  }

  private static int readInt(Source source, long offset) throws IOException {
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
   * Writes a file with one vector. A file that is not complete is removed.
   *
   * @param target of which nothing exists
   */
  public static void write(byte[] vector, Storages storages, Path target) throws IOException {
    byte[] file =
        ByteBuffer.allocate(FIRST + FRAME + vector.length)
            .put(VERSION)
            .putInt(vector.length)
            .put(vector)
            .putInt(checksum(vector))
            .array();
    OutputStream stream = DataFile.create(storages, target);
    try {
      stream.write(file);
      stream.close();
    } catch (Throwable failed) {
      DataFile.remove(storages, target, stream, failed);
      throw failed;
    }
  }

  /** The file's path for people. */
  public String place() {
    try {
      return path().toString();
    } catch (BrokenVectorException none) {
      return file;
    }
  }

  private Path path() throws BrokenVectorException {
    try {
      return new Path(URI.create(file));
    } catch (IllegalArgumentException broken) {
      throw new BrokenVectorException("its path is no URI of a file");
    }
  }
}
