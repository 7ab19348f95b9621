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
    /** Returns the result for a file that Delta must rewrite. */
    public static FileResult toRewrite(int number, String reason) {
      return new FileResult(number, DataFile.Way.TO_REWRITE, null, 0, reason, null, null);
    }

    /** Returns the result for a file whose data or deletion vector cannot be read. */
    static FileResult unreadable(int number, String path, String reason) {
      return new FileResult(number, DataFile.Way.UNREADABLE, null, 0, reason, path, null);
    }

    static FileResult of(FileRequest request, String target, DataFile.Outcome outcome) {
      if (outcome.way() == DataFile.Way.UNREADABLE) {
        return unreadable(request.number(), request.path().toString(), outcome.reason());
      }
      String copy = outcome.way() == DataFile.Way.COPIED ? target : null;
      return new FileResult(
          request.number(), outcome.way(), copy, outcome.length(), outcome.reason(), null, null);
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
