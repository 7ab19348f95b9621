// SPDX-License-Identifier: Apache-2.0
package sparkext.copy;

import java.io.Serializable;
import java.net.URI;
import org.apache.hadoop.fs.Path;
import sparkext.parquet.StoredVector;

/**
 * A request to read the footer of a file, and to copy the file if needed.
 *
 * @param number identifies the result
 * @param source the absolute path as a URI
 * @param size the size of the file according to the log
 * @param target the URI of the copy, without the task attempt and the ending of its name; null if
 *     nothing is written
 * @param mayBeKept whether a file without renamed and dropped columns is kept
 * @param reason why the file must be rewritten, so that only its deletion vector is read; or null
 * @param vector the deletion vector, if it is stored in a file; or null
 */
public record FileRequest(
    int number,
    String source,
    long size,
    String target,
    boolean mayBeKept,
    String reason,
    Vector vector)
    implements Serializable {
  /**
   * The deletion vector of a file. The vector is read even if it is not copied.
   *
   * @param target the URI of the vector's copy, without the last two of the five parts of the UUID
   *     in its name; null if the vector is not copied
   */
  public record Vector(StoredVector stored, String target) implements Serializable {}

  Path path() {
    return new Path(URI.create(source));
  }
}
