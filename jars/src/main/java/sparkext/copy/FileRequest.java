// SPDX-License-Identifier: Apache-2.0
package sparkext.copy;

import java.io.Serializable;
import java.net.URI;
import org.apache.hadoop.fs.Path;
import sparkext.parquet.StoredVector;

/**
 * A request to read the footer of a file, and to copy the file if needed.
 *
 * @param number the number of the request, which its result contains too
 * @param source the absolute path of the file, as a URI
 * @param size the size of the file according to the log, in bytes
 * @param target the start of the URI of the copy, to which the task appends its attempt id and an
 *     ending; null if the task writes nothing
 * @param mayBeKept whether the file may be kept if it contains no renamed and no dropped column
 * @param reason why Delta must rewrite the file; null if the file may be copied. A file with a
 *     reason has no target.
 * @param vector the deletion vector; null if no file contains a vector of the data file
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
   * A deletion vector, which the task always reads, and copies if there is a target.
   *
   * @param stored the place of the vector
   * @param target the start of the URI of the vector's copy, to which the task appends the last two
   *     parts of a UUID and an ending; null if the vector is not copied
   */
  public record Vector(StoredVector stored, String target) implements Serializable {}

  Path path() {
    return new Path(URI.create(source));
  }
}
