// SPDX-License-Identifier: Apache-2.0
package sparkext.log;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.UUID;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.Row;
import sparkext.parquet.MissingFileException;
import sparkext.parquet.Storages;
import sparkext.parquet.StoredVector;
import sparkext.parquet.UnreadableFileException;

/**
 * A deletion vector in a file, as the log describes it.
 *
 * <p>Source: Protocol, "Deletion Vector Descriptor Schema".
 *
 * @param path of the file: below the table's folder, or a URI
 */
record LoggedVector(String path, Integer offset, Integer size) {
  /** The fields of a descriptor in a schema. */
  static final String FIELDS =
      "STRUCT<storageType: STRING, pathOrInlineDv: STRING, `offset`: INT, sizeInBytes: INT,"
          + " cardinality: BIGINT>";

  private static final String RELATIVE = "u";
  private static final String ABSOLUTE = "p";

  /** Source: ZeroMQ, RFC 32, Z85. */
  private static final String SIGNS =
      "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";

  private static final int SIGNS_OF_BLOCK = 5;
  private static final int SIGNS_OF_UUID = 20;
  private static final int BYTES_OF_UUID = 16;

  /** Returns the vector of a descriptor; null if a query reads no file for it. */
  static LoggedVector of(Row vector) {
    if (vector == null) {
      return null;
    }
    String path = path(vector);
    Long cardinality = vector.getAs("cardinality");
    return path == null || (cardinality != null && cardinality == 0)
        ? null
        : new LoggedVector(path, vector.getAs("offset"), vector.getAs("sizeInBytes"));
  }

  /** Returns the path of a descriptor's file, as {@link #path}; null without a file. */
  static String path(Row vector) {
    if (vector == null || vector.getAs("pathOrInlineDv") == null) {
      return null;
    }
    String text = vector.getAs("pathOrInlineDv");
    return switch (String.valueOf(vector.<String>getAs("storageType"))) {
      case ABSOLUTE -> text;
      case RELATIVE -> relative(text);
      default -> null;
    };
  }

  /** Returns the path of a text with a UUID; other texts are paths already. */
  private static String relative(String text) {
    int prefix = text.length() - SIGNS_OF_UUID;
    UUID id = prefix < 0 ? null : uuid(text.substring(prefix));
    if (id == null) {
      return text;
    }
    String name = "deletion_vector_" + id + ".bin";
    return prefix == 0 ? name : text.substring(0, prefix) + "/" + name;
  }

  private static UUID uuid(String text) {
    ByteBuffer bytes = ByteBuffer.allocate(BYTES_OF_UUID);
    for (int start = 0; start < text.length(); start += SIGNS_OF_BLOCK) {
      long block = 0;
      for (int i = 0; i < SIGNS_OF_BLOCK; i++) {
        int digit = SIGNS.indexOf(text.charAt(start + i));
        if (digit < 0) {
          return null;
        }
        block = block * SIGNS.length() + digit;
      }
      bytes.putInt((int) block);
    }
    return new UUID(bytes.getLong(0), bytes.getLong(Long.BYTES));
  }

  /**
   * Returns why the vector cannot be read; null otherwise.
   *
   * @param place absolute; null if the path is not a URI
   */
  String problem(Configuration configuration, Path place) throws IOException {
    if (place == null) {
      return "its path is not the URI of a file";
    }
    if (size == null) {
      return "the log does not have its size";
    }
    try {
      new StoredVector(place.toUri().toString(), offset == null ? 0 : offset, size)
          .read(new Storages(configuration));
      return null;
    } catch (MissingFileException missing) {
      return DataFooter.MISSING;
    } catch (UnreadableFileException broken) {
      return broken.getMessage();
    }
  }
}
