// SPDX-License-Identifier: Apache-2.0
package sparkext.copy;

import java.io.Serializable;
import sparkext.parquet.DataFile;

/**
 * The result of a request.
 *
 * @param number the number of the request
 * @param target the URI of the copy; null without a copy
 * @param size the size of the copy
 * @param reason why the file must be rewritten or cannot be read; null otherwise
 * @param unreadable the path of the file or the deletion vector that cannot be read; null otherwise
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
