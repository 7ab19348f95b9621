// SPDX-License-Identifier: Apache-2.0
package sparkext.parquet;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.apache.parquet.format.FileMetaData;
import org.apache.parquet.format.Util;

/**
 * The footer of a Parquet file and its position.
 *
 * <p>Source: Parquet, README.md, "File format".
 *
 * @param start the first byte after the column chunks, page indexes and bloom filters
 */
record Footer(FileMetaData metadata, long start) {
  static final byte[] MAGIC = "PAR1".getBytes(StandardCharsets.US_ASCII);
  private static final byte[] ENCRYPTED_MAGIC = "PARE".getBytes(StandardCharsets.US_ASCII);

  /** The length of the footer and the last magic number. */
  private static final int TAIL = 8;

  /**
   * Reads the footer of a file.
   *
   * @throws NotCopyableException if the footer is encrypted or has unknown fields
   * @throws UnreadableFileException if the file is truncated or not a Parquet file
   */
  static Footer read(InputFile file, long size) throws IOException {
    return read(file, size, /* isChecked= */ true);
  }

  /** Reads the footer of a file, and ignores unknown fields. */
  static Footer readUnchecked(InputFile file, long size) throws IOException {
    return read(file, size, /* isChecked= */ false);
  }

  private static Footer read(InputFile file, long size, boolean isChecked) throws IOException {
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
    byte[] written = bytes(file, start, length);
    FileMetaData metadata = parsed(written);
    if (isChecked) {
      requireKnown(metadata, written);
    }
    return new Footer(metadata, start);
  }

  private static FileMetaData parsed(byte[] written) throws UnreadableFileException {
    try {
      return Util.readFileMetaData(new ByteArrayInputStream(written));
    } catch (IOException broken) {
      throw new UnreadableFileException("its footer cannot be read", broken);
    }
  }

  /**
   * Throws if the footer has fields of a newer format, which the copy would lose. The copy may lose
   * binary extensions.
   */
  private static void requireKnown(FileMetaData metadata, byte[] written)
      throws NotCopyableException {
    ByteArrayOutputStream again = new ByteArrayOutputStream(written.length);
    try {
      Util.writeFileMetaData(metadata, again);
    } catch (IOException unknown) {
      throw new NotCopyableException("its footer has unknown fields", unknown);
    }
    if (!Extensions.isAllElseKnown(written, again.toByteArray())) {
      throw new NotCopyableException("its footer has unknown fields");
    }
  }

  /** Writes a footer, its length and the last magic number, and returns the number of bytes. */
  static long write(FileMetaData metadata, OutputStream file) throws IOException {
    ByteArrayOutputStream footer = new ByteArrayOutputStream();
    Util.writeFileMetaData(metadata, footer);
    footer.writeBytes(
        ByteBuffer.allocate(TAIL)
            .order(ByteOrder.LITTLE_ENDIAN)
            .putInt(footer.size())
            .put(MAGIC)
            .array());
    footer.writeTo(file);
    return footer.size();
  }

  private static byte[] bytes(InputFile file, long start, int length) throws IOException {
    byte[] bytes = new byte[length];
    file.read(start, bytes);
    return bytes;
  }
}
