// SPDX-License-Identifier: Apache-2.0
package sparkext.log;

import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.delta.util.Codec;
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
    int prefix = text.length() - Codec.Base85Codec$.MODULE$.ENCODED_UUID_LENGTH();
    try {
      String name =
          "deletion_vector_"
              + Codec.Base85Codec$.MODULE$.decodeUUID(text.substring(prefix))
              + ".bin";
      return prefix == 0 ? name : text.substring(0, prefix) + "/" + name;
    } catch (IllegalArgumentException | StringIndexOutOfBoundsException noUuid) {
      return text;
    }
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
