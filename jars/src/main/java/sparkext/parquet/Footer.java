// SPDX-License-Identifier: Apache-2.0
package sparkext.parquet;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.apache.parquet.format.FileMetaData;

/**
 * The footer of a Parquet file and its position.
 *
 * <p>Source: Parquet, README.md, "File format".
 *
 * @param metadata a `FileMetaData`
 * @param start the first byte after the column chunks, page indexes and bloom filters
 * @param problem why no new footer can replace this one; null if one can
 */
record Footer(FileMetaData metadata, long start, String problem) {
  static final byte[] MAGIC = "PAR1".getBytes(StandardCharsets.US_ASCII);
  private static final byte[] ENCRYPTED_MAGIC = "PARE".getBytes(StandardCharsets.US_ASCII);

  /** The number of bytes after the footer: its length (4) and the last magic number (4). */
  private static final int TAIL = 8;

  /**
   * Reads the footer of a file without its unknown fields.
   *
   * @throws NotCopyableException if the footer is encrypted
   * @throws UnreadableFileException if the file is truncated or not a Parquet file
   */
  static Footer read(InputFile file, long size) throws IOException {
    if (size < MAGIC.length + TAIL) {
      throw new UnreadableFileException("it has " + size + " bytes");
    }
    byte[] tail = bytes(file, size - TAIL, TAIL);
    byte[] magic = Arrays.copyOfRange(tail, Integer.BYTES, TAIL);
    if (Arrays.equals(magic, ENCRYPTED_MAGIC)) {
      throw new NotCopyableException("its footer is encrypted");
    }
    int length = ByteBuffer.wrap(tail).order(ByteOrder.LITTLE_ENDIAN).getInt();
    long start = size - TAIL - length;
    if (!Arrays.equals(magic, MAGIC) || length < 0 || start < MAGIC.length) {
      throw new UnreadableFileException("it does not end with a footer");
    }
    ThriftReader reader = new ThriftReader(bytes(file, start, length));
    FileMetaData metadata;
    try {
      metadata = reader.read(new FileMetaData());
    } catch (IOException broken) {
      throw new UnreadableFileException("its footer cannot be read", broken);
    }
    return new Footer(metadata, start, problem(metadata, reader));
  }

  /** Returns why no new footer can replace this one, or null. Signing needs the writer's key. */
  private static String problem(FileMetaData metadata, ThriftReader reader) {
    if (metadata.isSetEncryption_algorithm() || metadata.isSetFooter_signing_key_metadata()) {
      return "it is encrypted, and its footer is signed";
    }
    return reader.problem() == null ? null : "its footer " + reader.problem();
  }

  /** Writes a footer, its length and the last magic number, and returns the number of bytes. */
  static long write(FileMetaData metadata, OutputStream file) throws IOException {
    byte[] footer = ThriftReader.bytes(metadata);
    file.write(
        ByteBuffer.allocate(footer.length + TAIL)
            .order(ByteOrder.LITTLE_ENDIAN)
            .put(footer)
            .putInt(footer.length)
            .put(MAGIC)
            .array());
    return footer.length + TAIL;
  }

  private static byte[] bytes(InputFile file, long start, int length) throws IOException {
    byte[] bytes = new byte[length];
    file.read(start, bytes);
    return bytes;
  }
}
