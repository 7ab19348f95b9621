// SPDX-License-Identifier: Apache-2.0
package sparkext.copy;

import java.io.Serializable;
import java.net.URI;
import org.apache.hadoop.fs.Path;
import sparkext.parquet.DataFile;
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
 * @param vector the deletion vector, which the task always reads; null if no file contains a vector
 *     of the data file
 * @param vectorTarget the start of the URI of the vector's copy, to which the task appends the last
 *     two parts of a UUID and an ending; null if the vector is not copied
 */
public record FileRequest(
    int number,
    String source,
    long size,
    String target,
    boolean mayBeKept,
    String reason,
    StoredVector vector,
    String vectorTarget)
    implements Serializable {
  Path path() {
    return new Path(URI.create(source));
  }

  /**
   * The result of a request.
   *
   * @param number the number of the request
   * @param target the URI of the copy; null without a copy
   * @param size the size of the copy
   * @param reason why the file must be rewritten or cannot be read; null otherwise
   * @param unreadable the path of the file or the deletion vector that cannot be read; null
   *     otherwise
   * @param vector the URI of the copy of the deletion vector; null without a copy
   */
  public record FileResult(
      int number,
      DataFile.Way way,
      String target,
      long size,
      String reason,
      String unreadable,
      String vector)
      implements Serializable {
    static FileResult of(FileRequest request, String target, DataFile.Outcome outcome) {
      return new FileResult(
          request.number(),
          outcome.way(),
          outcome.way() == DataFile.Way.COPIED ? target : null,
          outcome.length(),
          outcome.reason(),
          outcome.way() == DataFile.Way.UNREADABLE ? request.path().toString() : null,
          /* vector= */ null);
    }

    /**
     * Returns this result with another copy of the deletion vector.
     *
     * @param copy null for none
     */
    public FileResult withVector(String copy) {
      return new FileResult(number, way, target, size, reason, unreadable, copy);
    }
  }
}
